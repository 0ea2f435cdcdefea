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

CREATE OR REPLACE FUNCTION search.fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    search.unpointed(lower(unaccent('unaccent'::regdictionary, search.composed($1)))), '[\t-/:-@\[-`{-~]+', ' ', 'g'
);

-- Add each compound with a hyphen as one word: e-mail email.
CREATE FUNCTION search.compounds(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN $1 LIKE '%_-_%' THEN regexp_replace(
    $1, '([^\s!-@\[-`{-~]{1,20})[-\u2010\u2011]([^\s!-@\[-`{-~]{1,20})(?=$|[\s!-/:-@\[-`{-~])', '\1-\2 \1\2', 'g'
) ELSE $1 END;

-- Replace each character of Chinese, Japanese and Korean by a word of this character and the next one. So any part of their words consists of
-- words. `length` limits the text, because each character becomes a lexeme (`core.search.operations.MAX_SHORT_LENGTH`).
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

-- Each two neighbouring words of the short texts, of which 35,000 characters are used, are also added as one word, after a letter that no folded
-- text contains: dark mode þdarkmode. PL/pgSQL keeps its plans, so it takes a fraction of the time of a function in SQL.
CREATE OR REPLACE FUNCTION search.words(account_id bigint, text text, length integer) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    words text := left(search.fold(search.compounds($2)), $3);
    is_ascii CONSTANT boolean := octet_length(words) = length(words);
    joined text := '';
    word text;
    previous text;
BEGIN
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
    RETURN replace(
        ' ' || to_tsvector('pg_catalog.simple', regexp_replace(words, '([^ ]{255})[^ ]+', '\1', 'g'))::text,
        ' ''',
        ' ''' || search.account($1)
    )::tsvector;
END $$;
