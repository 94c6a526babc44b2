//! What of a dump is shown, and what is not.

use super::statements::{Columns, golden};

#[track_caller]
fn check(dump: &str, expected: &str) {
    let columns = [("s.v".to_owned(), "    a integer,\n    \"B\" text".to_owned())];
    assert_eq!(golden(dump, &Columns::from(columns)), expected, "{dump}");
}

#[test]
fn a_dump_is_the_same_whoever_made_it() {
    let dump = "--\n-- PostgreSQL database dump\n--\n\n\\restrict x\n\n-- Dumped from database version 15\n\
        -- Dumped by pg_dump version 17\n\nSET statement_timeout = 0;\nSELECT \
        pg_catalog.set_config('search_path', '', false);\n\n--\n-- Name: t; Type: TABLE\n--\n\n\
        CREATE TABLE s.t (\n    a integer\n);\n\n\n--\n-- PostgreSQL database dump complete\n--\n\n\
        \\unrestrict x\n";
    check(dump, "\nCREATE TABLE s.t (\n    a integer\n);\n");
}

#[test]
fn a_function_is_shown_without_its_body() {
    let head = "CREATE FUNCTION s.f(a text DEFAULT ');'::text, \"AS\" integer DEFAULT 1) RETURNS TABLE(b text)\n    \
        LANGUAGE plpgsql STABLE SECURITY DEFINER\n    SET search_path TO 'pg_catalog', 'AS'";
    let bodies = [
        "AS $$\nbegin\n    return a;\nend;\n$$",
        "AS $_$\ndeclare\n    b text := '$1;';\nbegin -- it's $$;\n    return $1;\nend;\n$_$",
        "AS $_$ select '$$;' || $2 $_$",
        "AS $a1$ select $$;$$, $a$;$a$ $a1$",
        "AS 'select ''a;'''",
        "AS E'it\\'s; '''",
        "RETURN (a || ';'::text)",
        "BEGIN ATOMIC\n SELECT CASE WHEN true THEN ';'::text END;\n SELECT 1 AS \"END\";\nEND",
    ];
    for body in bodies {
        let dump = format!("{head}\n    {body};\n\n\n--\n-- Name: g\n--\n\nCREATE TABLE s.t ();\n");
        check(&dump, &format!("\n{head};\n\nCREATE TABLE s.t ();\n"));
    }
}

#[test]
fn every_part_of_a_signature_shows() {
    let function = "CREATE FUNCTION s.f(a text) RETURNS text\n    LANGUAGE sql STABLE\n    SET jit TO 'off'\n    \
        AS $$ select 1 $$;\n";
    let changes = [
        ("s.f", "s.g"),
        ("a text", "a integer"),
        ("RETURNS text", "RETURNS SETOF text"),
        ("STABLE", "VOLATILE"),
        ("STABLE", "STABLE SECURITY DEFINER"),
        ("LANGUAGE sql", "LANGUAGE plpgsql"),
        ("'off'", "'on'"),
        ("    SET jit TO 'off'\n", ""),
    ];
    let shown = |dump: &str| golden(dump, &Columns::new());
    for (before, after) in changes {
        let changed = function.replace(before, after);
        assert_ne!(changed, function);
        assert_ne!(shown(&changed), shown(function), "{after}");
    }
    assert_eq!(shown(&function.replace("select 1", "select 2")), shown(function));
}

#[test]
fn a_view_is_shown_with_its_columns() {
    let view = |options: &str| format!("CREATE VIEW s.v{options} AS\n SELECT ';' AS a;\n");
    let columns = "(\n    a integer,\n    \"B\" text\n);\n";
    check(&view(""), &format!("\nCREATE VIEW s.v {columns}"));
    let options = " WITH (security_barrier='true')";
    check(&view(options), &format!("\nCREATE VIEW s.v{options} {columns}"));
}

#[test]
fn statements_of_one_line_stand_in_blocks() {
    let dump = "--\n-- Name: a\n--\n\nREVOKE ALL ON FUNCTION s.f(\"$$\" text) FROM PUBLIC;\nGRANT ALL ON FUNCTION \
        s.f(\"$$\" text) TO x;\n\n\n--\n-- Name: b\n--\n\nGRANT SELECT ON TABLE s.t TO y;\n\nCREATE INDEX i ON \
        s.t USING btree (a);\n\nCREATE INDEX j ON s.t USING btree (b) WHERE (c <> '--'::text); -- /*\n/* ; \
        /* ' */ */ ALTER TABLE ONLY s.t\n    ADD CONSTRAINT k CHECK (true);\n\nALTER TABLE ONLY s.u\n    \
        ADD CONSTRAINT l CHECK (true);\n";
    let expected = "\nREVOKE ALL ON FUNCTION s.f(\"$$\" text) FROM PUBLIC;\nGRANT ALL ON FUNCTION \
        s.f(\"$$\" text) TO x;\nGRANT SELECT ON TABLE s.t TO y;\n\nCREATE INDEX i ON s.t USING btree (a);\n\
        CREATE INDEX j ON s.t USING btree (b) WHERE (c <> '--'::text);\n\nALTER TABLE ONLY s.t\n    \
        ADD CONSTRAINT k CHECK (true);\n\nALTER TABLE ONLY s.u\n    ADD CONSTRAINT l CHECK (true);\n";
    check(dump, expected);
}
