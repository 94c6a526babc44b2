%% Runs inside a private RabbitMQ: evaluates what arrives on a Unix socket, one text per connection.
%% The answer begins with 1 when the text had a value, and with 0 when it raised something.
spawn(fun() ->
    ok = rabbit:await_startup(),
    {ok, Listener} = gen_tcp:listen(0, [{ifaddr, {local, "SOCKET"}}, binary, {packet, 4}, {active, false}]),
    Evaluate = fun(Text) ->
        {ok, Tokens, _} = erl_scan:string(binary_to_list(Text)),
        {ok, Expressions} = erl_parse:parse_exprs(Tokens),
        case erl_eval:exprs(Expressions, []) of
            {value, Value, _} when is_binary(Value) -> Value;
            {value, Value, _} -> unicode:characters_to_binary(io_lib:format("~0tp", [Value]))
        end
    end,
    Serve = fun(Socket) ->
        {ok, Text} = gen_tcp:recv(Socket, 0),
        Answer = try [1, Evaluate(Text)]
        catch Class:Reason:Stack ->
            [0, unicode:characters_to_binary(io_lib:format("~0tp", [{Class, Reason, Stack}]))]
        end,
        gen_tcp:send(Socket, Answer),
        gen_tcp:close(Socket)
    end,
    Accept = fun Accept() ->
        {ok, Socket} = gen_tcp:accept(Listener),
        Server = spawn(fun() -> receive go -> Serve(Socket) end end),
        ok = gen_tcp:controlling_process(Socket, Server),
        Server ! go,
        Accept()
    end,
    Accept()
end).
