-- An index whose building was stopped. Nobody else builds (hold_builds).
drop index concurrently if exists {{index_path}};
