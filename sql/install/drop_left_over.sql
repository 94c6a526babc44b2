-- An index whose building was stopped. Who builds it at the moment keeps us from its table.
drop index concurrently if exists {{index_path}};
