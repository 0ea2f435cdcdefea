"""The SQL functions of the search. Migrations create them in the schema `search`."""

EXTENSIONS = ("unaccent", "pg_trgm", "btree_gin")

# PostgreSQL resolves the names in these functions when it creates them, so they do not depend on the search_path. They are immutable
# as long as the rules of `unaccent` do not change. After a change of the rules, rebuild the generated columns.
CREATE_FOLDING = r"""
CREATE SCHEMA search;

CREATE FUNCTION search.fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(lower(unaccent('unaccent'::regdictionary, normalize($1, NFKC))), '[\t-/:-@\[-`{-~]+', ' ', 'g');

-- Remove spaces and punctuation from numbers: 48601234567, pl1234567890. E'\x01', which no text contains, separates the numbers.
CREATE FUNCTION search.compact(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN translate(regexp_replace(lower($1), '[\t-/:-@\[-`{-~]+', '', 'g'), E'\x01', ' ');

-- The folded name, cut because an index limits the size of its entries.
CREATE FUNCTION search.name(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(search.fold($1), 255);

-- The folded text, cut far below the maximum size of a tsvector, because folding may make a text many times longer.
CREATE FUNCTION search.words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_tsvector('pg_catalog.simple', left(search.fold($1), 100000));
"""

DROP_FOLDING = "DROP SCHEMA search CASCADE;"

# Nearly all text is normalized (NFKC) already. Checking that takes a fifth of the time of normalizing.
COMPOSE_IF_NEEDED = r"""
CREATE FUNCTION search.composed(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length($1) = length($1) OR $1 IS NFKC NORMALIZED THEN $1 ELSE normalize($1, NFKC) END;

-- The function returns the same as before, so the generated columns need not be rebuilt.
CREATE OR REPLACE FUNCTION search.fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(lower(unaccent('unaccent'::regdictionary, search.composed($1))), '[\t-/:-@\[-`{-~]+', ' ', 'g');
"""

COMPOSE_ALWAYS = r"""
CREATE OR REPLACE FUNCTION search.fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(lower(unaccent('unaccent'::regdictionary, normalize($1, NFKC))), '[\t-/:-@\[-`{-~]+', ' ', 'g');

DROP FUNCTION search.composed(text);
"""

CREATE_SPELLING = r"""
-- The words of a text that may be mistyped, by the rule of `core.search.terms.is_correctable`.
CREATE FUNCTION search.spelled(text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 8
AS $$ SELECT DISTINCT word FROM string_to_table($1, ' ') AS word WHERE word ~ '^[a-z]{5,64}$' ORDER BY 1 $$;

-- Those words of a text that are not stored yet for the rows of an account in a table.
CREATE FUNCTION search.unknown(account_id bigint, kind text, text text) RETURNS SETOF text LANGUAGE sql STABLE ROWS 8
AS $$
    SELECT word FROM search.spelled($3) AS spelled (word) WHERE NOT EXISTS (
        SELECT FROM accounts_word AS known WHERE known.account_id = $1 AND known.kind = $2 AND known.word = spelled.word
    )
$$;

CREATE FUNCTION search.learn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO accounts_word (account_id, kind, word, noted_by)
    SELECT DISTINCT account_id, TG_TABLE_NAME, word, pg_backend_pid()
    FROM written, search.unknown(account_id, TG_TABLE_NAME, search_text) AS word
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION search.relearn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO accounts_word (account_id, kind, word, noted_by)
        SELECT NEW.account_id, TG_TABLE_NAME, word, pg_backend_pid()
        FROM search.unknown(NEW.account_id, TG_TABLE_NAME, NEW.search_text) AS word
        ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO accounts_staleword (account_id, kind, word, noted_by)
    SELECT OLD.account_id, TG_TABLE_NAME, word, pg_backend_pid() FROM search.spelled(OLD.search_text) AS word
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
"""

DROP_SPELLING = """
DROP FUNCTION search.relearn();
DROP FUNCTION search.learn();
DROP FUNCTION search.unknown(bigint, text, text);
DROP FUNCTION search.spelled(text);
"""

# Each lexeme begins with the account, so that a lookup in the index reads no entries of other accounts, not even for the beginning of a
# word. The account is qualified after PostgreSQL has parsed the text, because what the parser takes for a word depends on the locale of
# the database. A folded text contains no apostrophe and no backslash, so the text of a tsvector or tsquery has one between apostrophes
# for each lexeme.
CREATE_WORDS_BY_ACCOUNT = r"""
-- The account as the beginning of its lexemes. No account's beginning is that of another one, because base64 contains no full stop.
CREATE OR REPLACE FUNCTION search.account(bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN rtrim(encode(ltrim(int8send($1), '\x00'), 'base64'), '=') || '.';

-- The words of a text, of which `length` characters are used. A longer word than any query is cut, because a tsvector limits the size of
-- its lexemes.
CREATE OR REPLACE FUNCTION search.words(account_id bigint, text text, length integer) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN replace(
    ' ' || to_tsvector('pg_catalog.simple', regexp_replace(left(search.fold($2), $3), '([^ ]{255})[^ ]+', '\1', 'g'))::text,
    ' ''',
    ' ''' || search.account($1)
)::tsvector;

-- The query for such words. `query` is the text of a tsquery, without accounts.
CREATE OR REPLACE FUNCTION search.query(account_id bigint, query text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    to_tsquery('pg_catalog.simple', $2)::text, '''([^'']+)''', '''' || search.account($1) || '\1''', 'g'
)::tsquery;
"""

# PostgreSQL's own index of trigrams (`gin_trgm_ops`) has the trigrams of all accounts together. To find those of one account, it reads the
# entries of other accounts, or an entry for each row of the account.
CREATE_PARTS = r"""
-- The trigrams within the words of a text, each as a number that depends on the account. A text contains a part only if it has all numbers
-- of the part. Trigrams with the beginning or the end of a word are left out, because a part need not begin or end where a word does.
CREATE OR REPLACE FUNCTION search.parts(account_id bigint, text text) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT hashtextextended(trigram, $1) FROM unnest(show_trgm($2)) AS trigram WHERE trigram NOT LIKE '% %');
"""

DROP_PARTS = "DROP FUNCTION IF EXISTS search.parts(bigint, text);"

DROP_WORDS_BY_ACCOUNT = """
DROP FUNCTION IF EXISTS search.query(bigint, text);
DROP FUNCTION IF EXISTS search.words(bigint, text, integer);
DROP FUNCTION IF EXISTS search.account(bigint);
"""
