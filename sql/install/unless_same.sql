-- What locks a table or view against its users: left as it is where the same program has migrated already.
do $unless_same_do$
begin
    if current_setting('postrider.is_same') = 'no' then
        execute $unless_same${{text}}$unless_same$;
    end if;
end;
$unless_same_do$;
