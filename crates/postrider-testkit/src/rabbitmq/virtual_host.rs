//! A virtual host of a private RabbitMQ, looked at from inside the server.

use anyhow::{Context, Result};
use serde_json::Value;

use super::control::Control;

/// A virtual host: a world of its own within a server, with its own queues and exchanges.
#[derive(Debug, Clone)]
pub struct VirtualHost {
    pub(super) control: Control,
    pub(super) name: String,
    pub(super) port: u16,
}

/// A queue as the server sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    pub name: String,
    /// Messages that wait for a consumer.
    pub ready: u64,
    /// Messages that a consumer has and did not acknowledge yet.
    pub unacknowledged: u64,
    pub consumers: u64,
    pub is_durable: bool,
    /// The arguments it was declared with, such as `x-message-ttl`, as a JSON object.
    pub arguments: Value,
}

/// An exchange as the server sees it; those that every virtual host has are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    pub name: String,
    /// `direct`, `topic`, `fanout` or `headers`.
    pub kind: String,
    pub is_durable: bool,
}

/// A binding of a queue to an exchange that has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub exchange: String,
    pub queue: String,
    pub key: String,
}

impl VirtualHost {
    /// The address for clients, with the user `guest`.
    pub fn url(&self) -> String {
        let name = self.name.replace('/', "%2f");
        format!("amqp://guest:guest@127.0.0.1:{}/{name}", self.port)
    }

    /// The same through something that listens on another port of 127.0.0.1, such as a
    /// [`Proxy`](crate::proxy::Proxy).
    pub fn url_through(&self, port: u16) -> String {
        Self { port, ..self.clone() }.url()
    }

    /// Makes a user of the server, who may do everything here.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or there is one of that name.
    pub fn add_user(&self, name: &str, password: &str) -> Result<()> {
        let (name, password) = (binary(name), binary(password));
        self.evaluate(&format!(
            "rabbit_auth_backend_internal:add_user({name}, {password}, <<\"xtask\">>), \
             ok = rabbit_auth_backend_internal:set_permissions({name}, HOST, <<\".*\">>, \
                  <<\".*\">>, <<\".*\">>, <<\"xtask\">>)."
        ))?;
        Ok(())
    }

    /// The name, such as `/`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port of the server on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// All queues, by name.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn queues(&self) -> Result<Vec<Queue>> {
        let listed = self.list(
            "[#{name => Name, ready => Ready, unacknowledged => Unacknowledged, \
               consumers => Consumers, durable => Durable, \
               arguments => rabbit_misc:amqp_table(Arguments)} \
             || [{name, {resource, _, queue, Name}}, {messages_ready, Ready}, \
                 {messages_unacknowledged, Unacknowledged}, {consumers, Consumers}, \
                 {durable, Durable}, {arguments, Arguments}] \
             <- rabbit_amqqueue:info_all(HOST, [name, messages_ready, messages_unacknowledged, \
                                                consumers, durable, arguments])]",
        )?;
        let queues = listed.iter().map(|queue| {
            Some(Queue {
                name: text(queue, "name")?,
                ready: queue["ready"].as_u64()?,
                unacknowledged: queue["unacknowledged"].as_u64()?,
                consumers: queue["consumers"].as_u64()?,
                is_durable: queue["durable"].as_bool()?,
                arguments: queue["arguments"].clone(),
            })
        });
        let mut queues: Vec<Queue> =
            queues.collect::<Option<_>>().with_context(|| format!("not queues: {listed:?}"))?;
        queues.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(queues)
    }

    /// The queue of that name, if there is one.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn queue(&self, name: &str) -> Result<Option<Queue>> {
        Ok(self.queues()?.into_iter().find(|queue| queue.name == name))
    }

    /// The exchanges that somebody declared, by name.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn exchanges(&self) -> Result<Vec<Exchange>> {
        let listed = self.list(
            "[#{name => Name, type => Type, durable => Durable} \
             || [{name, {resource, _, exchange, Name}}, {type, Type}, {durable, Durable}] \
             <- rabbit_exchange:info_all(HOST, [name, type, durable]), \
             Name =/= <<>>, binary:match(Name, <<\"amq.\">>) =/= {0, 4}]",
        )?;
        let exchanges = listed.iter().map(|exchange| {
            Some(Exchange {
                name: text(exchange, "name")?,
                kind: text(exchange, "type")?,
                is_durable: exchange["durable"].as_bool()?,
            })
        });
        let mut exchanges: Vec<Exchange> =
            exchanges.collect::<Option<_>>().with_context(|| format!("no: {listed:?}"))?;
        exchanges.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(exchanges)
    }

    /// The bindings of queues to exchanges that have a name, by exchange, queue and key.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn bindings(&self) -> Result<Vec<Binding>> {
        let listed = self.list(
            "[#{exchange => Exchange, queue => Queue, key => Key} \
             || [{source_name, Exchange}, {destination_name, Queue}, {destination_kind, queue}, \
                 {routing_key, Key}] \
             <- rabbit_binding:info_all(HOST, [source_name, destination_name, destination_kind, \
                                               routing_key]), \
             Exchange =/= <<>>]",
        )?;
        let bindings = listed.iter().map(|binding| {
            Some(Binding {
                exchange: text(binding, "exchange")?,
                queue: text(binding, "queue")?,
                key: text(binding, "key")?,
            })
        });
        let mut bindings: Vec<Binding> =
            bindings.collect::<Option<_>>().with_context(|| format!("not bindings: {listed:?}"))?;
        bindings
            .sort_by(|a, b| (&a.exchange, &a.queue, &a.key).cmp(&(&b.exchange, &b.queue, &b.key)));
        Ok(bindings)
    }

    /// How many client connections are open.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn connection_count(&self) -> Result<u64> {
        let count = self.evaluate(
            "length([Pid || [{pid, Pid}, {vhost, Host}] <- \
             rabbit_networking:connection_info_all([pid, vhost]), Host =:= HOST]).",
        )?;
        count.parse().with_context(|| format!("`{count}` is not a number of connections"))
    }

    /// Closes all client connections as an administrator would (connection.close with code 320), and
    /// says how many there were.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn close_connections(&self, reason: &str) -> Result<u64> {
        let count = self.evaluate(&format!(
            "length([ok = rabbit_networking:close_connection(Pid, \"{}\") \
             || [{{pid, Pid}}, {{vhost, Host}}] \
             <- rabbit_networking:connection_info_all([pid, vhost]), Host =:= HOST]).",
            reason.replace('"', "'")
        ))?;
        count.parse().with_context(|| format!("`{count}` is not a number of connections"))
    }

    /// The value of Erlang expressions in the server, which end with a full stop: the bytes of a
    /// binary, anything else as Erlang prints it. `HOST` stands for the name of this virtual host.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or what it raised.
    pub fn evaluate(&self, expressions: &str) -> Result<String> {
        self.control.evaluate(&expressions.replace("HOST", &binary(&self.name)))
    }

    fn list(&self, expression: &str) -> Result<Vec<Value>> {
        let json = self.evaluate(&format!("rabbit_json:encode({expression})."))?;
        serde_json::from_str(&json).with_context(|| format!("RabbitMQ answered `{json}`"))
    }
}

/// A text as Erlang's binary.
pub(super) fn binary(text: &str) -> String {
    format!("<<\"{}\"/utf8>>", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn text(object: &Value, name: &str) -> Option<String> {
    object[name].as_str().map(str::to_owned)
}
