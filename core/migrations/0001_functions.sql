CREATE SCHEMA account_ids;

CREATE SCHEMA search;

CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA public;

CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;

CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA public;

CREATE FUNCTION account_ids.advance(account bigint, past bigint) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO account_ids.counter SELECT account, past WHERE NOT EXISTS (
        SELECT FROM account_ids.counter WHERE account_id = account AND last >= past
    )
$$;

-- A transaction that takes ids for an account tries to get the account's main lock. Its holder continues after the highest id. Any other
-- transaction takes the beginning of a block of 64 ids above, which it locks. No transaction waits for another:
--
-- - A block is entered by a transaction that holds its lock, found no committed id in it after that, and keeps the lock until its end.
-- - The holder of the main lock continues in a block only after an id that is committed or its own.
-- - Only the holder of the main lock updates and deletes committed rows of the counter.
--
-- Each statement of the function must see what was committed before it, so the isolation level has to be READ COMMITTED.
CREATE FUNCTION account_ids.reserve(account bigint, number bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    has_main_lock CONSTANT boolean := pg_try_advisory_xact_lock(hashint8extended(account, -1));
    first bigint;
    block bigint;
BEGIN
    IF has_main_lock THEN
        UPDATE account_ids.counter SET last = last + number
        WHERE account_id = account AND last = (SELECT max(last) FROM account_ids.counter WHERE account_id = account)
            AND (last + number) >> 6 = last >> 6
        RETURNING last - number + 1 INTO first;
        IF FOUND THEN
            IF first & 63 = 1 THEN
                -- The block began with a row of its own, so the rows below count no longer. The lower limit keeps the scan short while
                -- an old snapshot prevents the removal of dead rows.
                DELETE FROM account_ids.counter WHERE account_id = account AND last BETWEEN first - 4096 AND first - 1;
            END IF;
            RETURN first;
        END IF;
    END IF;
    LOOP
        -- Without the main lock, continue only after an id of this transaction, or else enter another block.
        SELECT CASE
            WHEN has_main_lock OR xmin = pg_current_xact_id_if_assigned()::xid THEN last + 1 ELSE ((last >> 6) + 1) << 6
        END INTO first FROM account_ids.counter WHERE account_id = account ORDER BY last DESC LIMIT 1;
        -- A new account has no row.
        first := coalesce(first, 1);
        block := first >> 6;
        WHILE block <= (first + number - 1) >> 6 LOOP
            IF NOT pg_try_advisory_xact_lock(hashint8extended(account, block)) THEN
                first := (block + 1) << 6;
            END IF;
            block := block + 1;
        END LOOP;
        INSERT INTO account_ids.counter SELECT account, first + number - 1 WHERE NOT EXISTS (
            SELECT FROM account_ids.counter AS later WHERE later.account_id = account AND later.last >= first
        );
        EXIT WHEN FOUND;
    END LOOP;
    RETURN first;
END $$;

-- Set the id of a new row: the next one of its account, or of the sequence that the argument names.
CREATE FUNCTION account_ids.take() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.id := CASE WHEN TG_NARGS = 0 THEN account_ids.reserve(NEW.account_id, 1) ELSE nextval(TG_ARGV[0]::regclass) END;
    RETURN NEW;
END $$;

-- Keep a copy of some columns of each row that is not in the trash, in a narrow table with the same ids. The arguments are the narrow
-- table and the columns. The copy is written after the row, under the lock of the row.
CREATE FUNCTION public.core_copy_live_row() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
DECLARE
    columns CONSTANT text := array_to_string(TG_ARGV[1:], ', ');
    new_values CONSTANT text := '($1).' || array_to_string(TG_ARGV[1:], ', ($1).');
    was_live CONSTANT boolean := TG_OP <> 'INSERT' AND OLD.trashed_at IS NULL;
    is_live CONSTANT boolean := TG_OP <> 'DELETE' AND NEW.trashed_at IS NULL;
BEGIN
    IF was_live AND is_live THEN
        EXECUTE format(
            'UPDATE %I SET (%s) = ROW (%s) WHERE account_id = ($1).account_id AND id = ($1).id AND (%2$s) IS DISTINCT FROM (%3$s)',
            TG_ARGV[0], columns, new_values
        ) USING NEW;
    ELSIF is_live THEN
        EXECUTE format(
            'INSERT INTO %I (account_id, id, %s) VALUES (($1).account_id, ($1).id, %s)', TG_ARGV[0], columns, new_values
        ) USING NEW;
    ELSIF was_live THEN
        EXECUTE format('DELETE FROM %I WHERE account_id = $1 AND id = $2', TG_ARGV[0]) USING OLD.account_id, OLD.id;
    END IF;
    RETURN NULL;
END $_$;

-- Record a change for the feed. The arguments are the name of the resource, 'trashable' if its rows can be in the trash, and columns: with
-- them, an update that changes none of them is not recorded. A row in the trash counts as deleted.
CREATE FUNCTION public.core_record_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    thing CONSTANT record := coalesce(NEW, OLD);
    was_live boolean := TG_OP <> 'INSERT';
    is_live boolean := TG_OP <> 'DELETE';
BEGIN
    -- The search of the row was computed again (`manage.py fill_search`).
    IF current_setting('search.is_filling', true) = 'on' THEN
        RETURN NULL;
    END IF;
    IF TG_ARGV[1] = 'trashable' THEN
        was_live := was_live AND OLD.trashed_at IS NULL;
        is_live := is_live AND NEW.trashed_at IS NULL;
    END IF;
    IF NOT was_live AND NOT is_live THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' AND TG_NARGS > 2 THEN
        IF NOT EXISTS (
            SELECT FROM unnest(TG_ARGV[2:]) AS name WHERE to_jsonb(OLD) -> name IS DISTINCT FROM to_jsonb(NEW) -> name
        ) THEN
            RETURN NULL;
        END IF;
    END IF;
    INSERT INTO core_change (account_id, position, resource, id, change, at, import_id)
    SELECT
        thing.account_id,
        nextval('core_change_positions'),
        TG_ARGV[0],
        thing.id,
        CASE
            WHEN NOT is_live THEN 'deleted' WHEN was_live THEN 'updated' WHEN TG_OP = 'INSERT' THEN 'created'
            ELSE 'restored'
        END,
        clock_timestamp(),
        nullif(current_setting('changes.import_id', true), '')::bigint
    -- If the account itself was deleted, insert nothing.
    FROM accounts_account WHERE accounts_account.id = thing.account_id;
    RETURN NULL;
END $$;

-- The account as the beginning of its lexemes. No account's beginning is that of another one, because base64 contains no full stop. The
-- account is qualified after PostgreSQL has parsed the text, because what the parser takes for a word depends on the locale of the database.
CREATE FUNCTION search.account(bigint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (rtrim(encode(ltrim(int8send($1), '\x00'::bytea), 'base64'::text), '='::text) || '.'::text);

-- Replace each character of Chinese, Japanese and Korean by a word of this character and the next one. So any part of their words consists of
-- words. `length` limits the text, because each character becomes a lexeme (`core.search.declaration.MAX_SHORT_LENGTH`).
-- Both parameters have names, because pg_dump writes the name of a parameter without one as "", which no restore can read.
CREATE FUNCTION search.bigrams(text text, length integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN octet_length($1) = length($1) OR $1 !~ '[\u1100-\u11ff\u2e80-\u2fff\u3005-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]' THEN $1
    ELSE (
        SELECT string_agg(CASE WHEN NOT is_ideographic THEN part ELSE concat(' ', part, CASE WHEN goes_on THEN next END, ' ') END, '' ORDER BY place)
        FROM (
            SELECT part, place, is_ideographic, lead(part) OVER in_order AS next, lead(is_ideographic) OVER in_order AS goes_on
            FROM (
                SELECT part, place, part ~ '[\u1100-\u11ff\u2e80-\u2fff\u3005-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]' AS is_ideographic
                FROM unnest(string_to_array(left($1, $2), NULL)) WITH ORDINALITY AS split (part, place)
            ) AS parts WINDOW in_order AS (ORDER BY place)
        ) AS pairs
    )
END;

-- Remove spaces and punctuation from numbers: 48601234567, pl1234567890. E'\x01', which no text contains, separates the numbers.
CREATE FUNCTION search.compact(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(regexp_replace(lower($1), '[\t-/:-@\[-`{-~]+'::text, ''::text, 'g'::text), ''::text, ' '::text);

-- Nearly all text is normalized (NFKC) already. Checking that takes a fifth of the time of normalizing.
CREATE FUNCTION search.composed(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((octet_length($1) = length($1)) OR ($1 IS NFKC NORMALIZED)) THEN $1 ELSE NORMALIZE($1, NFKC) END;

-- Add each compound with a hyphen as one word: e-mail email.
CREATE FUNCTION search.compounds(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN $1 LIKE '%_-_%' THEN regexp_replace(
    $1, '([^\s!-@\[-`{-~]{1,20})[-\u2010\u2011]([^\s!-@\[-`{-~]{1,20})(?=$|[\s!-/:-@\[-`{-~])', '\1-\2 \1\2', 'g'
) ELSE $1 END;

-- Remove the points of Hebrew and Arabic, and the elongation of Arabic, which most texts omit. Replace the punctuation of Chinese, Japanese
-- and Korean by spaces.
CREATE FUNCTION search.unpointed(text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF octet_length($1) = length($1) THEN
        RETURN $1;
    END IF;
    RETURN regexp_replace(
        regexp_replace(
            $1,
            '[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]+',
            '', 'g'
        ),
        '[\u3000-\u3004\u3008-\u3020\u3030\u303d-\u303f\u30a0\u30fb]+', ' ', 'g'
    );
END $$;

-- PostgreSQL resolves the names in these functions when it creates them, so they do not depend on the search_path. They are immutable as
-- long as the rules of unaccent do not change. After a change of the rules, run `manage.py fill_search`.
CREATE FUNCTION search.fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    search.unpointed(lower(public.unaccent('public.unaccent'::regdictionary, search.composed($1)))), '[\t-/:-@\[-`{-~]+', ' ', 'g'
);

CREATE FUNCTION search.add_words() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO core_word (account_id, kind, word, recorded_by)
    SELECT DISTINCT account_id, TG_TABLE_NAME, word, pg_backend_pid()
    FROM written, search.unknown(account_id, TG_TABLE_NAME, search_text) AS word
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

-- The folded name, cut because an index limits the size of its entries.
CREATE FUNCTION search.name(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN "left"(search.fold($1), 255);

-- The trigrams within the words of a text, each as a number that depends on the account. A text contains a part only if it has all numbers
-- of the part. Trigrams with the beginning or the end of a word are left out, because a part need not begin or end where a word does.
-- PostgreSQL's own index of trigrams (gin_trgm_ops) has the trigrams of all accounts together, and would read entries of other accounts.
CREATE FUNCTION search.parts(account_id bigint, text text) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT hashtextextended(trigram.trigram, parts.account_id) AS hashtextextended FROM unnest(public.show_trgm(parts.text)) trigram(trigram) WHERE (trigram.trigram !~~ '% %'::text));

-- The query for such words. `query` is the text of a tsquery, without accounts.
CREATE FUNCTION search.query(account_id bigint, query text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (regexp_replace((to_tsquery('simple'::regconfig, query))::text, '''([^'']+)'''::text, ((''''::text || search.account(account_id)) || '\1'''::text), 'g'::text))::tsquery;

-- Store the words of a changed row, and mark those of its former version as stale. The argument is 'trashable' if rows of the table can be in
-- the trash, where they are not searched.
CREATE FUNCTION search.update_words(kind text, account_id bigint, old_text text, new_text text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF old_text IS NOT DISTINCT FROM new_text THEN
        RETURN;
    END IF;
    INSERT INTO core_word (account_id, kind, word, recorded_by)
    SELECT $2, $1, word, pg_backend_pid() FROM search.unknown($2, $1, new_text) AS word
    ON CONFLICT DO NOTHING;
    INSERT INTO core_staleword (account_id, kind, word, recorded_by)
    SELECT $2, $1, word, pg_backend_pid() FROM search.stored_words(old_text) AS word
    ON CONFLICT DO NOTHING;
END $$;

-- The words of a text that may be mistyped, by the rule of core.search.terms.is_correctable.
CREATE FUNCTION search.stored_words(text) RETURNS SETOF text
    LANGUAGE sql IMMUTABLE ROWS 8 PARALLEL SAFE
    AS $_$ SELECT DISTINCT word FROM string_to_table($1, ' ') AS word WHERE length(word) BETWEEN 5 AND 64 AND word ~ '^[a-z]+$' ORDER BY 1 $_$;

-- The words of a text that are not stored yet for the rows of an account in a table.
CREATE FUNCTION search.unknown(account_id bigint, kind text, text text) RETURNS SETOF text
    LANGUAGE sql STABLE ROWS 8
    AS $_$
    SELECT word FROM search.stored_words($3) AS stored (word) WHERE NOT EXISTS (
        SELECT FROM core_word AS known WHERE known.account_id = $1 AND known.kind = $2 AND known.word = stored.word
    )
$_$;

-- The words of a text, of which `length` characters are used. A longer word than any query is cut, because a tsvector limits the size of
-- its lexemes.
--
-- Each two neighbouring words of the short texts, of which 35,000 characters are used, are also added as one word, after a letter that no folded
-- text contains: dark mode þdarkmode. PL/pgSQL keeps its plans, so it takes a fraction of the time of a function in SQL.
CREATE FUNCTION search.words(account_id bigint, text text, length integer) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    words text := left(search.fold(search.compounds($2)), $3);
    is_ascii CONSTANT boolean := octet_length(words) = length(words);
    joined text := '';
    word text;
    previous text;
BEGIN
    IF words ~ '^ *$' THEN
        RETURN '';
    END IF;
    IF $3 <= 35000 THEN
        FOREACH word IN ARRAY string_to_array(words, ' ') LOOP
            IF length(word) > 20 OR word = '' OR translate(word, 'abcdefghijklmnopqrstuvwxyz', '') <> '' THEN
                previous := NULL;
                CONTINUE;
            END IF;
            joined := concat(joined, ' þ' || previous || word);
            previous := word;
        END LOOP;
        words := words || joined;
    END IF;
    IF NOT is_ascii THEN
        words := search.bigrams(words, $3 * 2 / 5);
    END IF;
    -- Most texts are shorter than the longest word.
    IF length(words) > 255 THEN
        words := regexp_replace(words, '([^ ]{255})[^ ]+', '\1', 'g');
    END IF;
    RETURN replace(' ' || to_tsvector('pg_catalog.simple', words)::text, ' ''', ' ''' || search.account($1))::tsvector;
END $$;

CREATE TABLE account_ids.counter (
    account_id bigint NOT NULL,
    last bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY account_ids.counter ALTER COLUMN account_id SET (n_distinct=-1);

CREATE SEQUENCE public.core_change_positions
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE ONLY account_ids.counter
    ADD CONSTRAINT counter_pkey PRIMARY KEY (account_id, last);
