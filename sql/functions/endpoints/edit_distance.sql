-- postrider.edit_distance(a, b) → how many characters must change to make one of the other
--
-- Internal. Insertions, removals and replacements (Levenshtein). Compares the first 64 characters,
-- which bounds its time. Stands here because the extension that has one may not be there.
create or replace function postrider.edit_distance(a text, b text)
returns integer
language plpgsql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    name_max constant integer := 64;
    a_letters constant text[] := string_to_array(left(edit_distance.a, name_max), null);
    b_letters constant text[] := string_to_array(left(edit_distance.b, name_max), null);
    -- The distances from the letters of a so far to each beginning of b, the empty one first.
    distances integer[] := array(select generate_series(0, cardinality(b_letters)));
    diagonal integer;
    above integer;
begin
    for line in 1 .. cardinality(a_letters) loop
        diagonal := distances[1];
        distances[1] := line;
        for place in 1 .. cardinality(b_letters) loop
            above := distances[place + 1];
            distances[place + 1] := least(
                diagonal + (a_letters[line] <> b_letters[place])::integer,
                distances[place] + 1,
                above + 1);
            diagonal := above;
        end loop;
    end loop;
    return distances[cardinality(b_letters) + 1];
end;
$$;
