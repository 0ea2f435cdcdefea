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

CREATE FUNCTION account_ids.take() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.id := CASE WHEN TG_NARGS = 0 THEN account_ids.reserve(NEW.account_id, 1) ELSE nextval(TG_ARGV[0]::regclass) END;
    RETURN NEW;
END $$;

CREATE FUNCTION public.accounts_begin_auditentry() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.at := clock_timestamp();
    NEW.id := floor(extract(epoch FROM NEW.at) * 1000000);
    WHILE NOT pg_try_advisory_xact_lock(hashint8extended(NEW.account_id, NEW.id))
        OR EXISTS (SELECT FROM accounts_auditentry WHERE account_id = NEW.account_id AND id = NEW.id) LOOP
        NEW.id := NEW.id + 1;
    END LOOP;
    RETURN NEW;
END $$;

CREATE FUNCTION public.accounts_fielddefinition_update_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, OLD.search_text, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.label);
    NEW.search_text := search.fold(coalesce(NEW.label, '') || ' ' || coalesce(NEW.key, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.label, '') || ' ' || coalesce(NEW.key, ''), 35000), 'A');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, OLD.search_text, NEW.search_text);
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.accounts_group_update_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, OLD.search_text, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, ''), 35000), 'A');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, OLD.search_text, NEW.search_text);
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.accounts_keep_auditentry() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.at < clock_timestamp() - interval '400 days' THEN
            RETURN OLD;
        END IF;
        IF NOT EXISTS (SELECT FROM accounts_account WHERE id = OLD.account_id) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'entries of the audit log cannot be changed, or deleted within 400 days'
        USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION public.accounts_pipeline_update_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, OLD.search_text, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, ''), 35000), 'A');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, OLD.search_text, NEW.search_text);
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.accounts_status_update_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, OLD.search_text, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, '') || ' ' || coalesce(NEW.code, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, '') || ' ' || coalesce(NEW.code, ''), 35000), 'A');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, OLD.search_text, NEW.search_text);
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.accounts_user_update_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, OLD.search_text, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, '') || ' ' || coalesce(NEW.login, '') || ' ' || coalesce(NEW.email, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, '') || ' ' || coalesce(NEW.login, '') || ' ' || coalesce(NEW.email, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.description, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, OLD.search_text, NEW.search_text);
    END IF;
    RETURN NEW;
END $$;

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

CREATE FUNCTION public.core_place_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE core_change SET position = nextval('core_change_positions'), at = clock_timestamp()
    WHERE account_id = NEW.account_id AND position = NEW.position;
    RETURN NULL;
END $$;

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

CREATE FUNCTION public.crm_client_update_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, '') || ' ' || coalesce(NEW.email, '') || ' ' || coalesce(NEW.first_name, '') || ' ' || coalesce(NEW.last_name, '') || ' ' || coalesce(NEW.shortcut, '') || ' ' || coalesce(NEW.www, '') || ' ' || coalesce(NEW.city, '') || ' ' || coalesce(NEW.tax_no, '') || ' ' || coalesce(NEW.register_number, '') || ' ' || coalesce(NEW.phone, '') || ' ' || coalesce(NEW.mobile_phone, '') || ' ' || coalesce(NEW.fax, '')) || ' ' || search.compact(coalesce(NEW.tax_no, '') || E'\x01' || coalesce(NEW.register_number, '') || E'\x01' || coalesce(NEW.phone, '') || E'\x01' || coalesce(NEW.mobile_phone, '') || E'\x01' || coalesce(NEW.fax, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, '') || ' ' || coalesce(NEW.email, '') || ' ' || coalesce(NEW.first_name, '') || ' ' || coalesce(NEW.last_name, '') || ' ' || coalesce(NEW.shortcut, '') || ' ' || coalesce(NEW.www, '') || ' ' || coalesce(NEW.city, '') || ' ' || coalesce(NEW.tax_no, '') || ' ' || coalesce(NEW.register_number, '') || ' ' || coalesce(NEW.phone, '') || ' ' || coalesce(NEW.mobile_phone, '') || ' ' || coalesce(NEW.fax, '') || ' ' || coalesce(NEW.street, '') || ' ' || coalesce(NEW.street_no, '') || ' ' || coalesce(NEW.post_code, '') || ' ' || coalesce(jsonb_path_query_array(NEW.external_ids, '$.*')::text, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.note, '') || ' ' || coalesce(NEW.description, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $_$;

CREATE FUNCTION public.crm_contact_update_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, '') || ' ' || coalesce(NEW.email, '') || ' ' || coalesce(NEW.first_name, '') || ' ' || coalesce(NEW.last_name, '') || ' ' || coalesce(NEW.position, '') || ' ' || coalesce(NEW.phone, '') || ' ' || coalesce(NEW.mobile_phone, '')) || ' ' || search.compact(coalesce(NEW.phone, '') || E'\x01' || coalesce(NEW.mobile_phone, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, '') || ' ' || coalesce(NEW.email, '') || ' ' || coalesce(NEW.first_name, '') || ' ' || coalesce(NEW.last_name, '') || ' ' || coalesce(NEW.position, '') || ' ' || coalesce(NEW.phone, '') || ' ' || coalesce(NEW.mobile_phone, '') || ' ' || coalesce(jsonb_path_query_array(NEW.external_ids, '$.*')::text, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.note, '') || ' ' || coalesce(NEW.description, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $_$;

CREATE FUNCTION public.crm_contactlist_update_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, ''), 35000), 'A');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.crm_deal_update_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_name := search.name(NEW.name);
    NEW.search_text := search.fold(coalesce(NEW.name, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.name, '') || ' ' || coalesce(jsonb_path_query_array(NEW.external_ids, '$.*')::text, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.description, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $_$;

CREATE FUNCTION public.crm_dealcount_insert_deltas() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            BEGIN
                IF TG_OP = 'UPDATE' AND (OLD.currency, OLD.price, OLD.responsible_id, OLD.status_id, OLD.trashed_at) IS NOT DISTINCT FROM (NEW.currency, NEW.price, NEW.responsible_id, NEW.status_id, NEW.trashed_at) THEN
                    RETURN NULL;
                END IF;
                IF OLD.id IS NOT NULL AND OLD.trashed_at IS NULL THEN 
            INSERT INTO crm_dealcount (account_id, status_id, currency, responsible_id, deals, price, number)
            SELECT *, nextval('crm_dealcount_numbers') FROM (SELECT OLD.account_id, value.*, -1, -1 * coalesce(OLD.price, 0) FROM (SELECT coalesce(OLD.status_id, 0), OLD.currency, coalesce(OLD.responsible_id, 0)) AS value) AS rows
        ; END IF; IF NEW.id IS NOT NULL AND NEW.trashed_at IS NULL THEN 
            INSERT INTO crm_dealcount (account_id, status_id, currency, responsible_id, deals, price, number)
            SELECT *, nextval('crm_dealcount_numbers') FROM (SELECT NEW.account_id, value.*, 1, 1 * coalesce(NEW.price, 0) FROM (SELECT coalesce(NEW.status_id, 0), NEW.currency, coalesce(NEW.responsible_id, 0)) AS value) AS rows
        ; END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.crm_note_update_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_text := search.fold(coalesce(NEW.excerpt, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.excerpt, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.content, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.forum_count_notifications() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    sign CONSTANT integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        UPDATE accounts_user SET unread_notifications = greatest(0, unread_notifications + counted.number)
        FROM (
            SELECT account_id, user_id, sum(step) AS number FROM (
                SELECT account_id, user_id, -1 AS step FROM former WHERE read_at IS NULL
                UNION ALL SELECT account_id, user_id, 1 FROM changed WHERE read_at IS NULL
            ) AS steps GROUP BY account_id, user_id HAVING sum(step) <> 0
        ) AS counted
        WHERE accounts_user.account_id = counted.account_id AND accounts_user.id = counted.user_id;
    ELSE
        PERFORM FROM accounts_user WHERE (account_id, id) IN (SELECT account_id, user_id FROM changed WHERE read_at IS NULL)
        ORDER BY account_id, id FOR NO KEY UPDATE;
        UPDATE accounts_user SET unread_notifications = greatest(0, unread_notifications + sign * counted.number)
        FROM (
            SELECT account_id, user_id, count(*) AS number FROM changed WHERE read_at IS NULL GROUP BY account_id, user_id
        ) AS counted
        WHERE accounts_user.account_id = counted.account_id AND accounts_user.id = counted.user_id;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.forum_count_votes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        UPDATE forum_post SET vote_weight = (
            SELECT forum_log2_sum(forum_half_lives(votes.created_at)) FROM (
                SELECT created_at FROM forum_vote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
                UNION ALL
                SELECT created_at FROM forum_proxyvote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
            ) AS votes
        )
        WHERE (account_id, id) IN (
            SELECT account_id, post_id FROM (
                SELECT account_id, post_id, created_at FROM changed
                EXCEPT ALL SELECT account_id, post_id, created_at FROM former
            ) AS moved
        );
        INSERT INTO forum_votechange (account_id, post_id, user_id)
        SELECT account_id, post_id, CASE WHEN TG_TABLE_NAME = 'forum_vote' THEN user_id END FROM changed
        UNION SELECT account_id, post_id, CASE WHEN TG_TABLE_NAME = 'forum_vote' THEN user_id END FROM former;
        RETURN NULL;
    END IF;
    PERFORM FROM forum_post WHERE (account_id, id) IN (SELECT account_id, post_id FROM changed)
    ORDER BY account_id, id FOR NO KEY UPDATE;
    IF TG_OP = 'INSERT' THEN
        UPDATE forum_post SET votes_cache = votes_cache + counted.number,
            vote_weight = forum_log2_add(vote_weight, counted.weight)
        FROM (
            SELECT account_id, post_id, count(*) AS number, forum_log2_sum(forum_half_lives(created_at)) AS weight
            FROM changed GROUP BY account_id, post_id
        ) AS counted
        WHERE forum_post.account_id = counted.account_id AND forum_post.id = counted.post_id;
    ELSE
        UPDATE forum_post SET votes_cache = votes_cache - counted.number, vote_weight = (
            SELECT forum_log2_sum(forum_half_lives(votes.created_at)) FROM (
                SELECT created_at FROM forum_vote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
                UNION ALL
                SELECT created_at FROM forum_proxyvote WHERE account_id = forum_post.account_id AND post_id = forum_post.id
            ) AS votes
        )
        FROM (SELECT account_id, post_id, count(*) AS number FROM changed GROUP BY account_id, post_id) AS counted
        WHERE forum_post.account_id = counted.account_id AND forum_post.id = counted.post_id;
    END IF;
    INSERT INTO forum_votechange (account_id, post_id, user_id)
    SELECT DISTINCT account_id, post_id, CASE WHEN TG_TABLE_NAME = 'forum_vote' THEN user_id END FROM changed;
    RETURN NULL;
END $$;

CREATE FUNCTION public.forum_facetcount_insert_deltas() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            BEGIN
                IF TG_OP = 'UPDATE' AND (OLD.category_id, OLD.forum_id, OLD.kind, OLD.status_id, OLD.tags, OLD.visibility) IS NOT DISTINCT FROM (NEW.category_id, NEW.forum_id, NEW.kind, NEW.status_id, NEW.tags, NEW.visibility) THEN
                    RETURN NULL;
                END IF;
                IF OLD.visibility > 0 THEN 
            INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, visibility, posts, number)
            SELECT *, nextval('forum_facetcount_numbers') FROM (SELECT OLD.account_id, value.*, -1 FROM (SELECT OLD.forum_id, 0, '', OLD.category_id, OLD.status_id, OLD.kind, OLD.visibility) AS value) AS rows
        ; END IF; IF OLD.visibility > 0 AND OLD.tags <> '{}' THEN 
            INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, visibility, posts, number)
            SELECT *, nextval('forum_facetcount_numbers') FROM (SELECT OLD.account_id, value.*, -1 FROM (
            SELECT OLD.forum_id, 1, tag, 0, 0, '', OLD.visibility FROM unnest(OLD.tags) AS tag
            UNION ALL
            SELECT OLD.forum_id, 2, tag, OLD.category_id, OLD.status_id, OLD.kind, OLD.visibility
            FROM unnest(OLD.tags) AS tag
            ) AS value) AS rows
        ; END IF; IF NEW.visibility > 0 THEN 
            INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, visibility, posts, number)
            SELECT *, nextval('forum_facetcount_numbers') FROM (SELECT NEW.account_id, value.*, 1 FROM (SELECT NEW.forum_id, 0, '', NEW.category_id, NEW.status_id, NEW.kind, NEW.visibility) AS value) AS rows
        ; END IF; IF NEW.visibility > 0 AND NEW.tags <> '{}' THEN 
            INSERT INTO forum_facetcount (account_id, forum_id, level, tag, category_id, status_id, kind, visibility, posts, number)
            SELECT *, nextval('forum_facetcount_numbers') FROM (SELECT NEW.account_id, value.*, 1 FROM (
            SELECT NEW.forum_id, 1, tag, 0, 0, '', NEW.visibility FROM unnest(NEW.tags) AS tag
            UNION ALL
            SELECT NEW.forum_id, 2, tag, NEW.category_id, NEW.status_id, NEW.kind, NEW.visibility
            FROM unnest(NEW.tags) AS tag
            ) AS value) AS rows
        ; END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.forum_half_lives(moment timestamp with time zone) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT date_part('epoch', moment - to_timestamp(0)) / 604800.0
$$;

CREATE FUNCTION public.forum_log2_add(a double precision, b double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN a IS NULL THEN b WHEN b IS NULL THEN a
        ELSE greatest(a, b) + ln(1 + power(2::double precision, greatest(-abs(a - b), -60))) / ln(2::double precision) END
$$;

CREATE FUNCTION public.forum_post_update_search() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, OLD.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, NULL);
        RETURN OLD;
    END IF;
    NEW.search_text := search.fold(coalesce(NEW.title, ''));
    NEW.search_words := setweight(search.words(NEW.account_id, coalesce(NEW.title, ''), 35000), 'A') || setweight(search.words(NEW.account_id, coalesce(NEW.content, '') || ' ' || coalesce(NEW.response, ''), 65536), 'D');
    IF TG_OP = 'UPDATE' THEN
        PERFORM search.update_words(TG_TABLE_NAME, NEW.account_id, CASE WHEN OLD.trashed_at IS NULL THEN OLD.search_text END, CASE WHEN NEW.trashed_at IS NULL THEN NEW.search_text END);
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.forum_trending(created_at timestamp with time zone, vote_weight double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT public.forum_log2_add(public.forum_half_lives(created_at), vote_weight)
$$;

CREATE FUNCTION public.team_current_clients(of_account bigint, ids bigint[]) RETURNS TABLE(client_id bigint, is_found boolean, last_activity_at timestamp with time zone, next_task_at timestamp with time zone, open_sum numeric, won_sum numeric)
    LANGUAGE sql STABLE
    AS $$
    SELECT given.id, client.id IS NOT NULL, live.last_activity_at, live.next_task_at, coalesce(revenue.open_sum, 0),
        coalesce(revenue.won_sum, 0)
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_client WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS client ON true
    LEFT JOIN LATERAL (
        SELECT
            greatest(client.created_at, (
                SELECT max(at) FROM team_timelineentry
                WHERE account_id = of_account AND client_id = client.id AND kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')
            )) AS last_activity_at,
            least(
                (
        SELECT min(scheduled_at) FROM forum_post
        WHERE account_id = of_account AND client_id = client.id AND trashed_at IS NULL AND category_id IS NULL AND NOT closed
    ),
                (SELECT min(next_task_at) FROM team_contactsummary WHERE account_id = of_account AND client_id = client.id),
                (SELECT min(next_task_at) FROM team_dealsummary WHERE account_id = of_account AND client_id = client.id)
            ) AS next_task_at
        WHERE client.trashed_at IS NULL AND client.id IS NOT NULL
    ) AS live ON true
    LEFT JOIN LATERAL (
        SELECT * FROM team_clientrevenue WHERE account_id = of_account AND client_id = given.id
            AND currency = (SELECT account.currency FROM accounts_account AS account WHERE account.id = of_account)
        OFFSET 0
    ) AS revenue ON true
$$;

CREATE FUNCTION public.team_current_contacts(of_account bigint, ids bigint[]) RETURNS TABLE(contact_id bigint, is_found boolean, client_id bigint, last_activity_at timestamp with time zone, next_task_at timestamp with time zone)
    LANGUAGE sql STABLE
    AS $$
    SELECT given.id, contact.id IS NOT NULL, live.client_id, live.last_activity_at, live.next_task_at
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_contact WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS contact ON true
    LEFT JOIN LATERAL (
        SELECT contact.client_id,
            greatest(contact.created_at, (
                SELECT max(at) FROM team_timelineentry
                WHERE account_id = of_account AND contact_id = contact.id AND kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')
            )) AS last_activity_at,
            least(
                (
        SELECT min(scheduled_at) FROM forum_post
        WHERE account_id = of_account AND contact_id = contact.id AND trashed_at IS NULL AND category_id IS NULL AND NOT closed
    ),
                (SELECT min(next_task_at) FROM team_dealsummary WHERE account_id = of_account AND contact_id = contact.id)
            ) AS next_task_at
        WHERE contact.trashed_at IS NULL AND contact.id IS NOT NULL
    ) AS live ON true
$$;

CREATE FUNCTION public.team_current_deals(of_account bigint, ids bigint[]) RETURNS TABLE(deal_id bigint, is_found boolean, client_id bigint, contact_id bigint, last_activity_at timestamp with time zone, next_task_at timestamp with time zone, outcome text, currency text, price numeric)
    LANGUAGE sql STABLE
    AS $$
    SELECT given.id, deal.id IS NOT NULL, live.client_id, live.contact_id, live.last_activity_at, live.next_task_at, live.outcome,
        live.currency, live.price
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_deal WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS deal ON true
    LEFT JOIN LATERAL (
        SELECT deal.client_id, deal.contact_id,
            greatest(deal.created_at, (
                SELECT max(at) FROM team_timelineentry
                WHERE account_id = of_account AND deal_id = deal.id AND kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')
            )) AS last_activity_at,
            (
        SELECT min(scheduled_at) FROM forum_post
        WHERE account_id = of_account AND deal_id = deal.id AND trashed_at IS NULL AND category_id IS NULL AND NOT closed
    ) AS next_task_at,
            coalesce((
                SELECT status.outcome FROM accounts_status AS status
                WHERE status.account_id = of_account AND status.id = deal.status_id
            ), 'open') AS outcome,
            deal.currency, coalesce(deal.price, 0) AS price
        WHERE deal.trashed_at IS NULL AND deal.id IS NOT NULL
    ) AS live ON true
$$;

CREATE FUNCTION public.team_update_summaries(of_account bigint, deals bigint[], contacts bigint[], clients bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
DECLARE
    linked_contacts bigint[];
    linked_clients bigint[];
    number_of_clients integer := 0;
BEGIN
    IF cardinality(deals) > 0 THEN
        PERFORM FROM team_dealsummary
            WHERE account_id = of_account AND deal_id = ANY (deals) ORDER BY deal_id FOR NO KEY UPDATE;
        WITH 
    differing AS MATERIALIZED (
        SELECT new.*, old.client_id AS old_client_id, old.contact_id AS old_contact_id, old.last_activity_at AS old_last_activity_at, old.next_task_at AS old_next_task_at, old.outcome AS old_outcome, old.currency AS old_currency, old.price AS old_price FROM team_current_deals(of_account, deals) AS new
        LEFT JOIN LATERAL (SELECT * FROM team_dealsummary WHERE account_id = of_account AND deal_id = new.deal_id OFFSET 0) AS old ON true
        WHERE NOT new.is_found OR old.deal_id IS NULL OR (new.client_id, new.contact_id, new.last_activity_at, new.next_task_at, new.outcome, new.currency, new.price) IS DISTINCT FROM (old.client_id, old.contact_id, old.last_activity_at, old.next_task_at, old.outcome, old.currency, old.price)
    ), written AS (
        INSERT INTO team_dealsummary (account_id, deal_id, client_id, contact_id, last_activity_at, next_task_at, outcome, currency, price)
        SELECT of_account, deal_id, client_id, contact_id, last_activity_at, next_task_at, outcome, currency, price FROM differing WHERE is_found ORDER BY deal_id
        ON CONFLICT (account_id, deal_id) DO UPDATE SET client_id = EXCLUDED.client_id, contact_id = EXCLUDED.contact_id, last_activity_at = EXCLUDED.last_activity_at, next_task_at = EXCLUDED.next_task_at, outcome = EXCLUDED.outcome, currency = EXCLUDED.currency, price = EXCLUDED.price
    ), erased AS (
        DELETE FROM team_dealsummary WHERE account_id = of_account AND deal_id = ANY (ARRAY(SELECT deal_id FROM differing WHERE NOT is_found))
    ), revenue AS (
            INSERT INTO team_clientrevenue AS total
                (account_id, client_id, currency, open_deals, open_sum, won_deals, won_sum)
            SELECT of_account, * FROM (
                SELECT client_id, currency,
                    coalesce(sum(sign) FILTER (WHERE outcome = 'open'), 0) AS open_deals,
                    coalesce(sum(sign * price) FILTER (WHERE outcome = 'open'), 0) AS open_sum,
                    coalesce(sum(sign) FILTER (WHERE outcome = 'won'), 0) AS won_deals,
                    coalesce(sum(sign * price) FILTER (WHERE outcome = 'won'), 0) AS won_sum
                FROM (
                    SELECT client_id, currency, outcome, price, 1 AS sign FROM differing
                    UNION ALL
                    SELECT old_client_id, old_currency, old_outcome, old_price, -1 FROM differing
                ) AS counted
                WHERE client_id IS NOT NULL AND outcome IN ('open', 'won')
                GROUP BY client_id, currency
            ) AS change
            WHERE (open_deals, open_sum, won_deals, won_sum) <> (0, 0, 0, 0)
            ORDER BY client_id, currency
            ON CONFLICT (account_id, client_id, currency) DO UPDATE SET
                open_deals = total.open_deals + EXCLUDED.open_deals, open_sum = total.open_sum + EXCLUDED.open_sum,
                won_deals = total.won_deals + EXCLUDED.won_deals, won_sum = total.won_sum + EXCLUDED.won_sum
        )
        SELECT array_agg(contact_id) || array_agg(old_contact_id), array_agg(client_id) || array_agg(old_client_id)
        INTO linked_contacts, linked_clients FROM differing;
        contacts := ARRAY(SELECT DISTINCT id FROM unnest(contacts || linked_contacts) AS id WHERE id IS NOT NULL);
        clients := ARRAY(SELECT DISTINCT id FROM unnest(clients || linked_clients) AS id WHERE id IS NOT NULL);
        DELETE FROM team_clientrevenue
        WHERE account_id = of_account AND client_id = ANY (linked_clients) AND open_deals = 0 AND won_deals = 0;
    END IF;
    IF cardinality(contacts) > 0 THEN
        PERFORM FROM team_contactsummary
            WHERE account_id = of_account AND contact_id = ANY (contacts) ORDER BY contact_id FOR NO KEY UPDATE;
        WITH 
    differing AS MATERIALIZED (
        SELECT new.*, old.client_id AS old_client_id, old.last_activity_at AS old_last_activity_at, old.next_task_at AS old_next_task_at FROM team_current_contacts(of_account, contacts) AS new
        LEFT JOIN LATERAL (SELECT * FROM team_contactsummary WHERE account_id = of_account AND contact_id = new.contact_id OFFSET 0) AS old ON true
        WHERE NOT new.is_found OR old.contact_id IS NULL OR (new.client_id, new.last_activity_at, new.next_task_at) IS DISTINCT FROM (old.client_id, old.last_activity_at, old.next_task_at)
    ), written AS (
        INSERT INTO team_contactsummary (account_id, contact_id, client_id, last_activity_at, next_task_at)
        SELECT of_account, contact_id, client_id, last_activity_at, next_task_at FROM differing WHERE is_found ORDER BY contact_id
        ON CONFLICT (account_id, contact_id) DO UPDATE SET client_id = EXCLUDED.client_id, last_activity_at = EXCLUDED.last_activity_at, next_task_at = EXCLUDED.next_task_at
    ), erased AS (
        DELETE FROM team_contactsummary WHERE account_id = of_account AND contact_id = ANY (ARRAY(SELECT contact_id FROM differing WHERE NOT is_found))
    )
        SELECT array_agg(client_id) || array_agg(old_client_id) INTO linked_clients FROM differing;
        clients := ARRAY(SELECT DISTINCT id FROM unnest(clients || linked_clients) AS id WHERE id IS NOT NULL);
    END IF;
    IF cardinality(clients) > 0 THEN
        PERFORM FROM team_clientsummary
            WHERE account_id = of_account AND client_id = ANY (clients) ORDER BY client_id FOR NO KEY UPDATE;
        WITH 
    differing AS MATERIALIZED (
        SELECT new.*, old.last_activity_at AS old_last_activity_at, old.next_task_at AS old_next_task_at, old.open_sum AS old_open_sum, old.won_sum AS old_won_sum FROM team_current_clients(of_account, clients) AS new
        LEFT JOIN LATERAL (SELECT * FROM team_clientsummary WHERE account_id = of_account AND client_id = new.client_id OFFSET 0) AS old ON true
        WHERE NOT new.is_found OR old.client_id IS NULL OR (new.last_activity_at, new.next_task_at, new.open_sum, new.won_sum) IS DISTINCT FROM (old.last_activity_at, old.next_task_at, old.open_sum, old.won_sum)
    ), written AS (
        INSERT INTO team_clientsummary (account_id, client_id, last_activity_at, next_task_at, open_sum, won_sum)
        SELECT of_account, client_id, last_activity_at, next_task_at, open_sum, won_sum FROM differing WHERE is_found ORDER BY client_id
        ON CONFLICT (account_id, client_id) DO UPDATE SET last_activity_at = EXCLUDED.last_activity_at, next_task_at = EXCLUDED.next_task_at, open_sum = EXCLUDED.open_sum, won_sum = EXCLUDED.won_sum
    ), erased AS (
        DELETE FROM team_clientsummary WHERE account_id = of_account AND client_id = ANY (ARRAY(SELECT client_id FROM differing WHERE NOT is_found))
    )
        SELECT count(*) INTO number_of_clients FROM differing;
    END IF;
    RETURN number_of_clients;
END $$;

CREATE FUNCTION search.account(bigint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (rtrim(encode(ltrim(int8send($1), '\x00'::bytea), 'base64'::text), '='::text) || '.'::text);

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

CREATE FUNCTION search.bigrams(text text, length integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((octet_length(text) = length(text)) OR (text !~ '[\u1100-\u11ff\u2e80-\u2fff\u3005-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]'::text)) THEN text ELSE (SELECT string_agg(CASE WHEN (NOT pairs.is_ideographic) THEN pairs.part ELSE concat(' ', pairs.part, CASE WHEN pairs.goes_on THEN pairs.next ELSE NULL::text END, ' ') END, ''::text ORDER BY pairs.place) AS string_agg FROM (SELECT parts.part, parts.place, parts.is_ideographic, lead(parts.part) OVER in_order AS next, lead(parts.is_ideographic) OVER in_order AS goes_on FROM (SELECT split.part, split.place, (split.part ~ '[\u1100-\u11ff\u2e80-\u2fff\u3005-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]'::text) AS is_ideographic FROM unnest(string_to_array("left"(bigrams.text, bigrams.length), NULL::text)) WITH ORDINALITY split(part, place)) parts WINDOW in_order AS (ORDER BY parts.place)) pairs) END;

CREATE FUNCTION search.compact(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(regexp_replace(lower($1), '[\t-/:-@\[-`{-~]+'::text, ''::text, 'g'::text), ''::text, ' '::text);

CREATE FUNCTION search.composed(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((octet_length($1) = length($1)) OR ($1 IS NFKC NORMALIZED)) THEN $1 ELSE NORMALIZE($1, NFKC) END;

CREATE FUNCTION search.compounds(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ($1 ~~ '%_-_%'::text) THEN regexp_replace($1, '([^\s!-@\[-`{-~]{1,20})[-\u2010\u2011]([^\s!-@\[-`{-~]{1,20})(?=$|[\s!-/:-@\[-`{-~])'::text, '\1-\2 \1\2'::text, 'g'::text) ELSE $1 END;

CREATE FUNCTION search.unpointed(text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $_$
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
END $_$;

CREATE FUNCTION search.fold(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN regexp_replace(search.unpointed(lower(public.unaccent('public.unaccent'::regdictionary, search.composed($1)))), '[\t-/:-@\[-`{-~]+'::text, ' '::text, 'g'::text);

CREATE FUNCTION search.name(text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN "left"(search.fold($1), 255);

CREATE FUNCTION search.parts(account_id bigint, text text) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT hashtextextended(trigram.trigram, parts.account_id) AS hashtextextended FROM unnest(public.show_trgm(parts.text)) trigram(trigram) WHERE (trigram.trigram !~~ '% %'::text));

CREATE FUNCTION search.query(account_id bigint, query text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (regexp_replace((to_tsquery('simple'::regconfig, query))::text, '''([^'']+)'''::text, ((''''::text || search.account(account_id)) || '\1'''::text), 'g'::text))::tsquery;

CREATE FUNCTION search.stored_words(text) RETURNS SETOF text
    LANGUAGE sql IMMUTABLE ROWS 8 PARALLEL SAFE
    AS $_$ SELECT DISTINCT word FROM string_to_table($1, ' ') AS word WHERE length(word) BETWEEN 5 AND 64 AND word ~ '^[a-z]+$' ORDER BY 1 $_$;

CREATE FUNCTION search.unknown(account_id bigint, kind text, text text) RETURNS SETOF text
    LANGUAGE sql STABLE ROWS 8
    AS $_$
    SELECT word FROM search.stored_words($3) AS stored (word) WHERE NOT EXISTS (
        SELECT FROM core_word AS known WHERE known.account_id = $1 AND known.kind = $2 AND known.word = stored.word
    )
$_$;

CREATE FUNCTION search.update_words(kind text, account_id bigint, old_text text, new_text text) RETURNS void
    LANGUAGE plpgsql
    AS $_$
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
END $_$;

CREATE FUNCTION search.words(account_id bigint, text text, length integer) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $_$
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
END $_$;

CREATE AGGREGATE public.forum_log2_sum(double precision) (
    SFUNC = public.forum_log2_add,
    STYPE = double precision
);

CREATE TABLE account_ids.counter (
    account_id bigint NOT NULL,
    last bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY account_ids.counter ALTER COLUMN account_id SET (n_distinct=-1);

CREATE TABLE public.accounts_account (
    id bigint NOT NULL,
    prefix character varying(63) NOT NULL,
    name character varying(255) NOT NULL,
    initial_module character varying(255) NOT NULL,
    from_partner character varying(255),
    partner_key character varying(255),
    time_zone character varying(255) NOT NULL,
    language character varying(255) NOT NULL,
    currency character varying(255) NOT NULL,
    agents_see character varying(255) DEFAULT 'all'::character varying NOT NULL,
    confirms_user_links boolean DEFAULT false NOT NULL,
    link_guests_by_email boolean DEFAULT false NOT NULL,
    won_reasons character varying(255)[] DEFAULT '{}'::character varying(255)[] NOT NULL,
    lost_reasons character varying(255)[] DEFAULT '{}'::character varying(255)[] NOT NULL,
    resources_with_fields text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    files_quota bigint,
    trash_days smallint DEFAULT 30 NOT NULL,
    inactive_member_months smallint,
    deletion_at timestamp with time zone,
    suspended_at timestamp with time zone,
    suspended_reason character varying(500) DEFAULT ''::character varying NOT NULL,
    second_factor_roles text[] DEFAULT '{}'::text[] NOT NULL,
    rate_limit integer,
    team_limit integer,
    plan_id bigint,
    sso_domains text[] DEFAULT '{}'::text[] NOT NULL,
    sso_exempt_id bigint,
    exchange_rates jsonb DEFAULT '{}'::jsonb NOT NULL,
    exchange_rates_on date,
    takes_euro_rates boolean DEFAULT false NOT NULL,
    country character varying(2) DEFAULT ''::character varying NOT NULL,
    examples jsonb DEFAULT '{}'::jsonb NOT NULL,
    start_page character varying(255) DEFAULT 'home'::character varying NOT NULL,
    CONSTRAINT account_prefix_form CHECK (((prefix)::text ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$'::text))
);

CREATE TABLE public.accounts_accountinvitation (
    id bigint NOT NULL,
    email character varying(255) NOT NULL,
    digest bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

ALTER TABLE public.accounts_accountinvitation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_accountinvitation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_apitoken (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    label character varying(255) NOT NULL,
    digest bytea NOT NULL,
    hint character varying(255) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_from character varying(50) DEFAULT ''::character varying NOT NULL,
    networks character varying(43)[],
    scopes character varying(20)[]
);
ALTER TABLE ONLY public.accounts_apitoken ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_attachment (
    id bigint NOT NULL,
    resource character varying(255) NOT NULL,
    row_id bigint,
    part character varying(255) NOT NULL,
    is_inline boolean NOT NULL,
    file_id bigint NOT NULL,
    thumbnail_id bigint,
    width integer,
    height integer,
    user_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.accounts_attachment ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_auditentry (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    action character varying(255) NOT NULL,
    action_group character varying(255) NOT NULL,
    actor_kind character varying(255) NOT NULL,
    actor_id bigint,
    actor_name character varying(255) NOT NULL,
    token_label character varying(255),
    target_kind character varying(255) NOT NULL,
    target_id bigint,
    target_label character varying(255) NOT NULL,
    details jsonb NOT NULL,
    address character varying(255) NOT NULL,
    agent character varying(255) NOT NULL,
    interface character varying(255) NOT NULL
);
ALTER TABLE ONLY public.accounts_auditentry ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_branding (
    account_id bigint NOT NULL,
    accent character varying(255) NOT NULL,
    logo bytea,
    logo_key character varying(255),
    header_links jsonb DEFAULT '[]'::jsonb NOT NULL,
    icon bytea,
    icon_key character varying(255),
    share_image bytea,
    share_image_key character varying(255),
    shows_powered_by boolean DEFAULT true NOT NULL
);
ALTER TABLE ONLY public.accounts_branding ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_fielddefinition (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    resource character varying(255) NOT NULL,
    key character varying(64) NOT NULL,
    label character varying(255) NOT NULL,
    type character varying(255) NOT NULL,
    choices text[] NOT NULL,
    required boolean NOT NULL,
    in_lists boolean NOT NULL,
    "position" integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    search_name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    search_text text DEFAULT ''::text NOT NULL,
    search_words tsvector DEFAULT ''::tsvector NOT NULL
);
ALTER TABLE ONLY public.accounts_fielddefinition ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_formerprefix (
    id bigint NOT NULL,
    prefix character varying(63) NOT NULL,
    free_at timestamp with time zone NOT NULL
);

ALTER TABLE public.accounts_formerprefix ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_formerprefix_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_group (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    name character varying(255) NOT NULL,
    name_key text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    search_name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    search_text text DEFAULT ''::text NOT NULL,
    search_words tsvector DEFAULT ''::tsvector NOT NULL
);
ALTER TABLE ONLY public.accounts_group ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_handover (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    session_id bigint NOT NULL,
    host character varying(255) NOT NULL,
    nonce bytea NOT NULL,
    digest bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.accounts_handover ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_host (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    name character varying(255) NOT NULL,
    token uuid DEFAULT gen_random_uuid() NOT NULL,
    proven_at timestamp with time zone DEFAULT statement_timestamp(),
    checked_at timestamp with time zone DEFAULT statement_timestamp(),
    failing_since timestamp with time zone
);
ALTER TABLE ONLY public.accounts_host ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE public.accounts_host ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_host_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_identity (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    provider character varying(255) NOT NULL,
    subject character varying(255) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.accounts_identity ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_invitation (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    email character varying(255) NOT NULL,
    email_key text NOT NULL,
    role character varying(255) NOT NULL,
    site_ids bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    digest bytea NOT NULL,
    invited_by_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT invitation_role CHECK (((role)::text = ANY ((ARRAY['admin'::character varying, 'agent'::character varying, 'member'::character varying])::text[])))
);
ALTER TABLE ONLY public.accounts_invitation ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_oidcprovider (
    account_id bigint NOT NULL,
    issuer character varying(500) NOT NULL,
    client_identifier character varying(500) NOT NULL,
    client_secret text NOT NULL,
    state character varying(20) NOT NULL,
    domains character varying(255)[] NOT NULL,
    token uuid NOT NULL,
    groups_claim character varying(255) NOT NULL,
    group_roles jsonb NOT NULL,
    default_role character varying(20) NOT NULL,
    trusts_factors boolean NOT NULL,
    tested_at timestamp with time zone,
    tested_claims jsonb,
    metadata jsonb NOT NULL,
    keys jsonb NOT NULL,
    fetched_at timestamp with time zone,
    checked_at timestamp with time zone,
    missing_since jsonb DEFAULT '{}'::jsonb NOT NULL
);
ALTER TABLE ONLY public.accounts_oidcprovider ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_pipeline (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    name character varying(255) NOT NULL,
    name_key text,
    "position" integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    search_name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    search_text text DEFAULT ''::text NOT NULL,
    search_words tsvector DEFAULT ''::tsvector NOT NULL
);
ALTER TABLE ONLY public.accounts_pipeline ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_plan (
    id bigint NOT NULL,
    name character varying(255) NOT NULL,
    rate_limit integer,
    files_quota bigint,
    team_limit integer,
    CONSTRAINT plan_rate_limit_positive CHECK (((rate_limit > 0) OR (rate_limit IS NULL)))
);

ALTER TABLE public.accounts_plan ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_plan_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.accounts_secondfactor (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    kind character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    key bytea NOT NULL,
    credential_key bytea,
    counter bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.accounts_secondfactor ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_session (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    digest bytea NOT NULL,
    family uuid DEFAULT gen_random_uuid() NOT NULL,
    domain character varying(255) DEFAULT ''::character varying NOT NULL,
    agent character varying(255) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    confirmed_at timestamp with time zone,
    is_verified boolean DEFAULT false NOT NULL,
    address character varying(50) DEFAULT ''::character varying NOT NULL
);
ALTER TABLE ONLY public.accounts_session ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_shopsignin (
    account_id bigint NOT NULL,
    secret text NOT NULL,
    previous_secret text NOT NULL,
    previous_until timestamp with time zone,
    public_key text NOT NULL,
    trusts_emails boolean NOT NULL,
    refusals jsonb NOT NULL
);
ALTER TABLE ONLY public.accounts_shopsignin ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_signincode (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    email character varying(255) NOT NULL,
    browser bytea NOT NULL,
    digest bytea NOT NULL,
    attempts integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    typed_email character varying(255) DEFAULT ''::character varying NOT NULL
);
ALTER TABLE ONLY public.accounts_signincode ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_status (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    kind character varying(255) NOT NULL,
    code character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    code_key text,
    name_key text,
    color character varying(255),
    "position" integer NOT NULL,
    closed boolean NOT NULL,
    on_roadmap boolean DEFAULT false NOT NULL,
    outcome character varying(255),
    probability smallint,
    pipeline_id bigint,
    rot_days smallint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    search_name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    search_text text DEFAULT ''::text NOT NULL,
    search_words tsvector DEFAULT ''::tsvector NOT NULL,
    CONSTRAINT status_of_deal CHECK (((((kind)::text = 'deal'::text) AND (outcome IS NOT NULL) AND (pipeline_id IS NOT NULL) AND (probability IS NOT NULL) AND ((probability >= 0) AND (probability <= 100)) AND (((NOT closed) AND ((outcome)::text = 'open'::text)) OR (closed AND ((outcome)::text = ANY ((ARRAY['won'::character varying, 'lost'::character varying])::text[]))))) OR ((NOT ((kind)::text = 'deal'::text)) AND (outcome IS NULL) AND (pipeline_id IS NULL) AND (probability IS NULL) AND (rot_days IS NULL))))
);
ALTER TABLE ONLY public.accounts_status ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_storeddraft (
    id bigint NOT NULL,
    digest bytea NOT NULL,
    sealed text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.accounts_storeddraft ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_tag (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    name character varying(255) NOT NULL,
    name_key text NOT NULL
);
ALTER TABLE ONLY public.accounts_tag ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_tagcount (
    account_id bigint NOT NULL,
    shard smallint NOT NULL,
    uses bigint NOT NULL,
    kind character varying(255) NOT NULL,
    tag_id bigint NOT NULL
);
ALTER TABLE ONLY public.accounts_tagcount ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.accounts_user (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    password character varying(128) NOT NULL,
    last_login timestamp with time zone,
    login character varying(255) NOT NULL,
    login_key text NOT NULL,
    email character varying(255) NOT NULL,
    email_key text NOT NULL,
    login_skeleton text DEFAULT ''::text NOT NULL,
    email_skeleton text DEFAULT ''::text NOT NULL,
    name character varying(255) NOT NULL,
    role character varying(255) NOT NULL,
    group_id bigint,
    notification character varying(255) NOT NULL,
    shows_votes boolean DEFAULT false NOT NULL,
    description character varying(65536),
    www character varying(255),
    language character varying(255),
    time_zone character varying(255),
    delivery character varying(255) DEFAULT 'at_once'::character varying NOT NULL,
    digest_hour smallint DEFAULT 8 NOT NULL,
    digest_weekday smallint DEFAULT 0 NOT NULL,
    notify_new_posts boolean DEFAULT true NOT NULL,
    notify_sign_ups boolean DEFAULT false NOT NULL,
    unread_notifications integer DEFAULT 0 NOT NULL,
    bounces smallint DEFAULT 0 NOT NULL,
    bounced_at timestamp with time zone,
    shortcuts boolean DEFAULT true NOT NULL,
    is_active boolean NOT NULL,
    blocked_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    search_name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    search_text text DEFAULT ''::text NOT NULL,
    search_words tsvector DEFAULT ''::tsvector NOT NULL,
    erased_at timestamp with time zone,
    erasure_notice_at timestamp with time zone,
    second_factor_at timestamp with time zone,
    asks_name boolean DEFAULT false NOT NULL,
    preferences jsonb DEFAULT '{}'::jsonb NOT NULL
);
ALTER TABLE ONLY public.accounts_user ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.core_change (
    account_id bigint NOT NULL,
    "position" bigint NOT NULL,
    number bigint,
    resource character varying(255) NOT NULL,
    id bigint NOT NULL,
    change character varying(255) NOT NULL,
    at timestamp with time zone NOT NULL,
    import_id bigint,
    actor_id bigint,
    data jsonb
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.core_change ALTER COLUMN account_id SET (n_distinct=2);

CREATE SEQUENCE public.core_change_positions
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.core_follower (
    account_id bigint NOT NULL,
    name character varying(255) NOT NULL,
    key bigint NOT NULL,
    cursor bigint NOT NULL,
    newest bigint NOT NULL,
    due_at timestamp with time zone,
    token bigint NOT NULL,
    failures integer NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY public.core_follower ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.core_heartbeat (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL
);

ALTER TABLE public.core_heartbeat ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.core_heartbeat_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.core_idempotentanswer (
    account_id bigint NOT NULL,
    caller character varying(255) NOT NULL,
    key character varying(255) NOT NULL,
    fingerprint bytea NOT NULL,
    status smallint NOT NULL,
    headers jsonb NOT NULL,
    body bytea NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.core_idempotentanswer ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.core_job (
    id bigint NOT NULL,
    queue character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    account_id bigint DEFAULT 0 NOT NULL,
    arguments jsonb DEFAULT '{}'::jsonb NOT NULL,
    key character varying(255),
    state character varying(255) DEFAULT 'waiting'::character varying NOT NULL,
    scheduled_at timestamp with time zone NOT NULL,
    leased_until timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    error character varying(255)
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');

ALTER TABLE public.core_job ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.core_job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.core_periodictime (
    id bigint NOT NULL,
    name character varying(255) NOT NULL,
    at timestamp with time zone NOT NULL
);

ALTER TABLE public.core_periodictime ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.core_periodictime_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE UNLOGGED TABLE public.core_ratecount (
    key character varying(128) NOT NULL,
    used integer NOT NULL,
    ends_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');

CREATE TABLE public.core_staleword (
    account_id bigint NOT NULL,
    kind character varying(255) NOT NULL,
    word character varying(255) NOT NULL,
    recorded_by integer NOT NULL
);
ALTER TABLE ONLY public.core_staleword ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.core_storedfile (
    id bigint NOT NULL,
    key character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    content_type character varying(255) NOT NULL,
    size bigint NOT NULL,
    sha256 character varying(64) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    account_id bigint NOT NULL,
    is_counted boolean DEFAULT true NOT NULL
);
ALTER TABLE ONLY public.core_storedfile ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.core_word (
    account_id bigint NOT NULL,
    kind character varying(255) NOT NULL,
    word character varying(255) NOT NULL COLLATE pg_catalog."C",
    recorded_by integer NOT NULL
);
ALTER TABLE ONLY public.core_word ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_client (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    trashed_at timestamp with time zone,
    trashed_by_id bigint,
    tags text[] NOT NULL,
    creator_id bigint NOT NULL,
    updater_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    consent boolean,
    consent_at timestamp with time zone,
    consent_by_id bigint,
    do_not_contact boolean DEFAULT false NOT NULL,
    do_not_contact_at timestamp with time zone,
    do_not_contact_by_id bigint,
    external_ids jsonb NOT NULL,
    further_external_ids jsonb,
    name character varying(255) NOT NULL,
    email character varying(255),
    email_key text,
    note character varying(65536),
    first_name character varying(255),
    last_name character varying(255),
    shortcut character varying(255),
    kind character varying(255),
    company boolean,
    tax_no character varying(255),
    register_number character varying(255),
    phone character varying(255),
    mobile_phone character varying(255),
    fax character varying(255),
    www character varying(255),
    street character varying(255),
    street_no character varying(255),
    post_code character varying(255),
    city character varying(255),
    province character varying(255),
    country character varying(255),
    delivery_address character varying(65536),
    use_delivery_address boolean,
    bank character varying(255),
    bank_account character varying(255),
    discount numeric(20,6),
    description character varying(65536),
    status_id bigint,
    responsible_id bigint,
    contact_id bigint,
    trashed_contact_id bigint,
    url character varying(255),
    origin character varying(255),
    additional_fields jsonb NOT NULL,
    search_name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    search_text text DEFAULT ''::text NOT NULL,
    search_words tsvector DEFAULT ''::tsvector NOT NULL
)
WITH (fillfactor='90', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_client ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_clientexternalid (
    account_id bigint NOT NULL,
    key character varying(64) NOT NULL,
    value character varying(255) NOT NULL,
    holder_id bigint NOT NULL
);
ALTER TABLE ONLY public.crm_clientexternalid ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_clientlastchange (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    updated_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_clientlastchange ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_contact (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    trashed_at timestamp with time zone,
    trashed_by_id bigint,
    tags text[] NOT NULL,
    creator_id bigint NOT NULL,
    updater_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    consent boolean,
    consent_at timestamp with time zone,
    consent_by_id bigint,
    do_not_contact boolean DEFAULT false NOT NULL,
    do_not_contact_at timestamp with time zone,
    do_not_contact_by_id bigint,
    external_ids jsonb DEFAULT '{}'::jsonb NOT NULL,
    further_external_ids jsonb,
    client_id bigint,
    trashed_client_id bigint,
    name character varying(255) NOT NULL,
    email character varying(255),
    email_key text,
    note character varying(65536),
    first_name character varying(255),
    last_name character varying(255),
    phone character varying(255),
    mobile_phone character varying(255),
    "position" character varying(255),
    description character varying(65536),
    responsible_id bigint,
    additional_fields jsonb DEFAULT '{}'::jsonb NOT NULL,
    search_name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    search_text text DEFAULT ''::text NOT NULL,
    search_words tsvector DEFAULT ''::tsvector NOT NULL
)
WITH (fillfactor='95', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_contact ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_contactexternalid (
    account_id bigint NOT NULL,
    key character varying(64) NOT NULL,
    value character varying(255) NOT NULL,
    holder_id bigint NOT NULL
);
ALTER TABLE ONLY public.crm_contactexternalid ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_contactlastchange (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    updated_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_contactlastchange ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_contactlist (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    trashed_at timestamp with time zone,
    trashed_by_id bigint,
    creator_id bigint NOT NULL,
    updater_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    name character varying(255) NOT NULL,
    name_key text,
    search_name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    search_text text DEFAULT ''::text NOT NULL,
    search_words tsvector DEFAULT ''::tsvector NOT NULL
);
ALTER TABLE ONLY public.crm_contactlist ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_contactlistcount (
    account_id bigint NOT NULL,
    shard smallint NOT NULL,
    uses bigint NOT NULL,
    contact_list_id bigint NOT NULL
);
ALTER TABLE ONLY public.crm_contactlistcount ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_contactlistmembership (
    account_id bigint NOT NULL,
    contact_id bigint NOT NULL,
    contact_list_id bigint NOT NULL
);
ALTER TABLE ONLY public.crm_contactlistmembership ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_deal (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    trashed_at timestamp with time zone,
    trashed_by_id bigint,
    tags text[] NOT NULL,
    creator_id bigint NOT NULL,
    updater_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    external_ids jsonb NOT NULL,
    further_external_ids jsonb,
    client_id bigint,
    trashed_client_id bigint,
    name character varying(255) NOT NULL,
    description character varying(65536),
    price numeric(20,6),
    currency character varying(255) NOT NULL,
    status_id bigint,
    responsible_id bigint,
    url character varying(255),
    origin character varying(255),
    expected_close_date date,
    contact_id bigint,
    trashed_contact_id bigint,
    won_reason character varying(255),
    lost_reason character varying(255),
    closed_at timestamp with time zone,
    stage_entered_at timestamp with time zone,
    board_position bigint,
    additional_fields jsonb DEFAULT '{}'::jsonb NOT NULL,
    search_name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    search_text text DEFAULT ''::text NOT NULL,
    search_words tsvector DEFAULT ''::tsvector NOT NULL
)
WITH (fillfactor='95', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_deal ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_dealcount (
    account_id bigint NOT NULL,
    number bigint NOT NULL,
    status_id bigint NOT NULL,
    currency text NOT NULL,
    responsible_id bigint NOT NULL,
    deals integer NOT NULL,
    price numeric(30,6) NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY public.crm_dealcount ALTER COLUMN account_id SET (n_distinct=2);

CREATE SEQUENCE public.crm_dealcount_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.crm_dealexternalid (
    account_id bigint NOT NULL,
    key character varying(64) NOT NULL,
    value character varying(255) NOT NULL,
    holder_id bigint NOT NULL
);
ALTER TABLE ONLY public.crm_dealexternalid ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_deallastchange (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    updated_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_deallastchange ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_dealstage (
    account_id bigint NOT NULL,
    deal_id bigint NOT NULL,
    number bigint NOT NULL,
    status_id bigint,
    entered_at timestamp with time zone NOT NULL,
    left_at timestamp with time zone,
    user_id bigint NOT NULL
);
ALTER TABLE ONLY public.crm_dealstage ALTER COLUMN account_id SET (n_distinct=2);

CREATE SEQUENCE public.crm_dealstage_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.crm_note (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    trashed_at timestamp with time zone,
    trashed_by_id bigint,
    creator_id bigint NOT NULL,
    updater_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    client_id bigint,
    contact_id bigint,
    deal_id bigint,
    trashed_client_id bigint,
    trashed_contact_id bigint,
    trashed_deal_id bigint,
    kind character varying(255) NOT NULL,
    content character varying(65536) NOT NULL,
    excerpt text NOT NULL,
    noted_at timestamp with time zone NOT NULL,
    duration integer,
    mentioned_user_ids bigint[] NOT NULL,
    search_text text DEFAULT ''::text NOT NULL,
    search_words tsvector DEFAULT ''::tsvector NOT NULL,
    outcome character varying(255),
    CONSTRAINT note_of_one_row CHECK ((num_nonnulls(client_id, trashed_client_id, contact_id, trashed_contact_id, deal_id, trashed_deal_id) = 1))
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.crm_note ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.crm_userlink (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    client_id bigint,
    contact_id bigint,
    trashed_client_id bigint,
    trashed_contact_id bigint,
    state character varying(255) NOT NULL,
    creator_id bigint,
    updater_id bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT userlink_to_one_row CHECK ((num_nonnulls(client_id, trashed_client_id, contact_id, trashed_contact_id) = 1))
);
ALTER TABLE ONLY public.crm_userlink ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.django_migrations (
    id bigint NOT NULL,
    app character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp with time zone NOT NULL
);

ALTER TABLE public.django_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_migrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.forum_activity (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    kind character varying(255) NOT NULL,
    post_id bigint,
    comment_id bigint,
    note_id bigint,
    user_id bigint NOT NULL,
    internal boolean NOT NULL,
    before character varying(255),
    after character varying(255),
    scheduled_at timestamp with time zone,
    announced boolean NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.forum_activity ALTER COLUMN account_id SET (n_distinct=2);

CREATE SEQUENCE public.forum_activity_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.forum_answer (
    id bigint NOT NULL,
    post_id bigint NOT NULL,
    user_id bigint NOT NULL,
    status_id bigint,
    response character varying(65536) NOT NULL,
    silent boolean NOT NULL,
    tell_customers boolean NOT NULL,
    publish_at timestamp with time zone,
    published_at timestamp with time zone,
    customers_told integer,
    failure character varying(255) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.forum_answer ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_category (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    forum_id bigint NOT NULL,
    name character varying(255) NOT NULL,
    name_key text NOT NULL,
    "position" integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT category_name_form CHECK (((NOT (name_key = ANY (ARRAY['.well-known'::text, 'app'::text, 'favicon.ico'::text, 'healthz'::text, 'media'::text, 'readyz'::text, 'robots.txt'::text, 'sitemap.xml'::text, 'static'::text]))) AND (NOT (name_key ~ '^$|/|\.(xml|json)$'::text))))
);
ALTER TABLE ONLY public.forum_category ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_comment (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    post_id bigint NOT NULL,
    from_post_id bigint,
    user_id bigint NOT NULL,
    agent character varying(255) NOT NULL,
    comment character varying(65536) NOT NULL,
    comment_html character varying(1048576),
    kind character varying(255),
    internal boolean DEFAULT false NOT NULL,
    approved boolean DEFAULT true NOT NULL,
    withdrawn_at timestamp with time zone,
    edited_at timestamp with time zone,
    edited_by_other boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    helpful boolean DEFAULT false NOT NULL,
    parent_id bigint,
    pinned_at timestamp with time zone
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.forum_comment ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_commentreaction (
    comment_id bigint NOT NULL,
    user_id bigint NOT NULL,
    kind character varying(16) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.forum_commentreaction ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_commentversion (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    comment_id bigint NOT NULL,
    text character varying(65536) NOT NULL,
    user_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.forum_commentversion ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_contentreport (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    post_id bigint,
    comment_id bigint,
    user_id bigint NOT NULL,
    reason character varying(255) NOT NULL,
    note character varying(500) NOT NULL,
    digest character varying(64) NOT NULL,
    dismissed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT contentreport_of_post_or_comment CHECK ((((comment_id IS NOT NULL) AND (post_id IS NULL)) OR ((comment_id IS NULL) AND (post_id IS NOT NULL))))
);
ALTER TABLE ONLY public.forum_contentreport ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_facetcount (
    account_id bigint NOT NULL,
    number bigint NOT NULL,
    forum_id bigint NOT NULL,
    level smallint NOT NULL,
    tag text NOT NULL,
    category_id bigint NOT NULL,
    status_id bigint NOT NULL,
    kind text NOT NULL,
    visibility smallint NOT NULL,
    posts integer NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY public.forum_facetcount ALTER COLUMN account_id SET (n_distinct=2);

CREATE SEQUENCE public.forum_facetcount_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.forum_follow (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    post_id bigint NOT NULL,
    user_id bigint NOT NULL,
    is_following boolean NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.forum_follow ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_forum (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    host_id bigint NOT NULL,
    name character varying(255) NOT NULL,
    description character varying(1000) DEFAULT ''::character varying NOT NULL,
    access character varying(255) DEFAULT 'public'::character varying NOT NULL,
    segment_id bigint,
    approval boolean DEFAULT false NOT NULL,
    is_default boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT forum_access_known CHECK (((access)::text = ANY ((ARRAY['public'::character varying, 'members'::character varying, 'private'::character varying, 'list'::character varying, 'segment'::character varying])::text[])))
);
ALTER TABLE ONLY public.forum_forum ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_forumaddress (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    forum_id bigint NOT NULL,
    address character varying(255) NOT NULL,
    address_key text NOT NULL
);
ALTER TABLE ONLY public.forum_forumaddress ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_forummember (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    forum_id bigint NOT NULL,
    user_id bigint NOT NULL,
    state character varying(255) NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.forum_forummember ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_notification (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    activity_id bigint NOT NULL,
    reason smallint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    read_at timestamp with time zone,
    mail_at timestamp with time zone,
    mailed_at timestamp with time zone
);
ALTER TABLE ONLY public.forum_notification ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_post (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    trashed_at timestamp with time zone,
    trashed_by_id bigint,
    tags text[] NOT NULL,
    duplicate_from_id bigint,
    status_before_merge_id bigint,
    closed_before_merge boolean,
    forum_id bigint,
    category_id bigint,
    task_kind character varying(255) NOT NULL,
    kind character varying(255) NOT NULL,
    title character varying(255) NOT NULL,
    content character varying(65536) NOT NULL,
    content_html character varying(1048576),
    agent character varying(255) NOT NULL,
    user_id bigint NOT NULL,
    status_id bigint NOT NULL,
    responsible_id bigint,
    client_id bigint,
    trashed_client_id bigint,
    contact_id bigint,
    trashed_contact_id bigint,
    deal_id bigint,
    trashed_deal_id bigint,
    private boolean NOT NULL,
    approved boolean NOT NULL,
    closed boolean NOT NULL,
    priority integer NOT NULL,
    scheduled_at timestamp with time zone,
    due_day date,
    remind_at timestamp with time zone,
    completed_at timestamp with time zone,
    response character varying(65536),
    response_html character varying(1048576),
    response_user_id bigint,
    votes_cache integer NOT NULL,
    comments_cache integer NOT NULL,
    vote_weight double precision,
    trending double precision GENERATED ALWAYS AS (public.forum_trending(created_at, vote_weight)) STORED,
    internal_comments_cache integer DEFAULT 0 NOT NULL,
    handled_at timestamp with time zone,
    answered_at timestamp with time zone,
    additional_fields jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    visibility smallint GENERATED ALWAYS AS (
CASE
    WHEN ((category_id IS NULL) OR (trashed_at IS NOT NULL) OR (duplicate_from_id IS NOT NULL)) THEN 0
    WHEN (private OR (NOT approved) OR ((kind)::text = 'private'::text)) THEN 2
    ELSE 1
END) STORED,
    search_text text DEFAULT ''::text NOT NULL,
    search_words tsvector DEFAULT ''::tsvector NOT NULL,
    target_is_quarter boolean DEFAULT false NOT NULL,
    target_on date,
    repeat_day smallint,
    repeat_every integer,
    repeat_unit character varying(255),
    CONSTRAINT completion_of_task CHECK (((category_id IS NOT NULL) OR ((NOT closed) AND (completed_at IS NULL)) OR (closed AND (completed_at IS NOT NULL)))),
    CONSTRAINT post_of_forum_or_task CHECK ((((category_id IS NOT NULL) AND (forum_id IS NOT NULL) AND ((task_kind)::text = 'feedback'::text)) OR ((category_id IS NULL) AND (forum_id IS NULL) AND (NOT ((task_kind)::text = 'feedback'::text)))))
)
WITH (fillfactor='90', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.forum_post ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_postsortkey (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    category_id bigint,
    forum_id bigint,
    status_id bigint NOT NULL,
    visibility smallint NOT NULL,
    client_id bigint,
    contact_id bigint,
    deal_id bigint,
    votes_cache integer NOT NULL,
    comments_cache integer NOT NULL,
    trending double precision NOT NULL,
    updated_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.forum_postsortkey ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_proxyvote (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    post_id bigint NOT NULL,
    client_id bigint,
    contact_id bigint,
    user_id bigint NOT NULL,
    from_post_id bigint,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT proxyvote_of_client_or_contact CHECK ((((client_id IS NULL) AND (contact_id IS NOT NULL)) OR ((client_id IS NOT NULL) AND (contact_id IS NULL))))
);
ALTER TABLE ONLY public.forum_proxyvote ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_savedreply (
    id bigint NOT NULL,
    name character varying(100) NOT NULL,
    name_key text NOT NULL,
    text character varying(10000) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.forum_savedreply ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_statuschange (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    post_id bigint NOT NULL,
    from_name character varying(255),
    name character varying(255) NOT NULL,
    color character varying(255),
    response character varying(65536),
    response_html character varying(1048576),
    user_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.forum_statuschange ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.forum_vote (
    account_id bigint NOT NULL,
    post_id bigint NOT NULL,
    user_id bigint NOT NULL,
    from_post_id bigint,
    created_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.forum_vote ALTER COLUMN account_id SET (n_distinct=2);

CREATE SEQUENCE public.forum_votechange_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.forum_votechange (
    account_id bigint NOT NULL,
    number bigint DEFAULT nextval('public.forum_votechange_numbers'::regclass) NOT NULL,
    post_id bigint NOT NULL,
    user_id bigint
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY public.forum_votechange ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_bulkchange (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    author_id bigint NOT NULL,
    resource character varying(255) NOT NULL,
    action character varying(255) NOT NULL,
    value jsonb,
    query text NOT NULL,
    state character varying(255) NOT NULL,
    failure character varying(255) NOT NULL,
    position_resource character varying(255) NOT NULL,
    "position" bigint NOT NULL,
    total integer NOT NULL,
    changed integer NOT NULL,
    unchanged integer NOT NULL,
    skipped integer NOT NULL,
    restored integer NOT NULL,
    kept integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    undone_by_id bigint,
    undone_at timestamp with time zone
);
ALTER TABLE ONLY public.team_bulkchange ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_bulkchangerow (
    account_id bigint NOT NULL,
    batch_id bigint NOT NULL,
    resource character varying(255) NOT NULL,
    target bigint NOT NULL,
    number integer NOT NULL,
    result character varying(255) NOT NULL,
    undo_result character varying(255) NOT NULL,
    before jsonb,
    after jsonb,
    kept_fields text[]
);
ALTER TABLE ONLY public.team_bulkchangerow ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_calendarfeed (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    digest bytea NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.team_calendarfeed ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_clientkey (
    kind character varying(255) NOT NULL,
    key bigint NOT NULL,
    is_shared boolean NOT NULL,
    is_dismissed boolean NOT NULL,
    client_id bigint NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.team_clientkey ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_clientrevenue (
    account_id bigint NOT NULL,
    client_id bigint NOT NULL,
    currency text NOT NULL,
    open_deals integer NOT NULL,
    open_sum numeric(30,6) NOT NULL,
    won_deals integer NOT NULL,
    won_sum numeric(30,6) NOT NULL
);
ALTER TABLE ONLY public.team_clientrevenue ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_clientsummary (
    account_id bigint NOT NULL,
    last_activity_at timestamp with time zone,
    next_task_at timestamp with time zone,
    client_id bigint NOT NULL,
    open_sum numeric(30,6) NOT NULL,
    won_sum numeric(30,6) NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.team_clientsummary ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_contactkey (
    kind character varying(255) NOT NULL,
    key bigint NOT NULL,
    is_shared boolean NOT NULL,
    is_dismissed boolean NOT NULL,
    contact_id bigint NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.team_contactkey ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_contactsummary (
    account_id bigint NOT NULL,
    last_activity_at timestamp with time zone,
    next_task_at timestamp with time zone,
    contact_id bigint NOT NULL,
    client_id bigint
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.team_contactsummary ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_dealsummary (
    account_id bigint NOT NULL,
    last_activity_at timestamp with time zone,
    next_task_at timestamp with time zone,
    deal_id bigint NOT NULL,
    client_id bigint,
    contact_id bigint,
    outcome text,
    currency text,
    price numeric(20,6)
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.team_dealsummary ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_export (
    id bigint NOT NULL,
    author_id bigint NOT NULL,
    kind character varying(255) NOT NULL,
    resource character varying(255) NOT NULL,
    query text NOT NULL,
    columns character varying(255) NOT NULL,
    format character varying(255) NOT NULL,
    options jsonb NOT NULL,
    state character varying(255) NOT NULL,
    failure character varying(255) NOT NULL,
    total integer,
    written integer NOT NULL,
    attempts integer NOT NULL,
    notes jsonb NOT NULL,
    file_id bigint,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.team_export ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_goal (
    id bigint NOT NULL,
    user_id bigint,
    period character varying(255) NOT NULL,
    measure character varying(255) NOT NULL,
    target bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    account_id bigint NOT NULL,
    CONSTRAINT goal_target_positive CHECK ((target > 0))
);
ALTER TABLE ONLY public.team_goal ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_import (
    id bigint NOT NULL,
    author_id bigint NOT NULL,
    state character varying(255) NOT NULL,
    failure character varying(255) NOT NULL,
    position_resource character varying(255) NOT NULL,
    "position" bigint NOT NULL,
    total integer NOT NULL,
    changed integer NOT NULL,
    unchanged integer NOT NULL,
    skipped integer NOT NULL,
    restored integer NOT NULL,
    kept integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    undone_by_id bigint,
    undone_at timestamp with time zone,
    name character varying(255) NOT NULL,
    source_id bigint,
    rows_id bigint,
    reading jsonb NOT NULL,
    sheet jsonb NOT NULL,
    settings jsonb NOT NULL,
    format character varying(255) NOT NULL,
    error jsonb,
    checked jsonb,
    created integer NOT NULL,
    faults integer NOT NULL,
    line integer,
    "offset" bigint NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.team_import ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_importfault (
    account_id bigint NOT NULL,
    import_id bigint NOT NULL,
    number integer NOT NULL,
    faults jsonb NOT NULL
);
ALTER TABLE ONLY public.team_importfault ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_importkey (
    account_id bigint NOT NULL,
    import_id bigint NOT NULL,
    key character varying(255) NOT NULL,
    kind character varying(255) NOT NULL,
    target bigint
);
ALTER TABLE ONLY public.team_importkey ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_importrow (
    account_id bigint NOT NULL,
    batch_id bigint NOT NULL,
    resource character varying(255) NOT NULL,
    target bigint NOT NULL,
    number integer NOT NULL,
    result character varying(255) NOT NULL,
    undo_result character varying(255) NOT NULL,
    before jsonb,
    after jsonb,
    kept_fields text[]
);
ALTER TABLE ONLY public.team_importrow ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_merge (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    client_id bigint,
    merged_client_id bigint,
    contact_id bigint,
    merged_contact_id bigint,
    user_id bigint NOT NULL,
    changes jsonb NOT NULL,
    external_ids jsonb NOT NULL,
    undone_at timestamp with time zone,
    undone_by_id bigint,
    unrestored_fields jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT merge_of_clients_or_contacts CHECK ((((client_id IS NOT NULL) AND (contact_id IS NULL) AND (merged_client_id IS NOT NULL) AND (merged_contact_id IS NULL)) OR ((client_id IS NULL) AND (contact_id IS NOT NULL) AND (merged_client_id IS NULL) AND (merged_contact_id IS NOT NULL))))
);
ALTER TABLE ONLY public.team_merge ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_mergedrow (
    account_id bigint NOT NULL,
    merge_id bigint NOT NULL,
    link character varying(255) NOT NULL,
    row_id bigint NOT NULL,
    deleted jsonb
);
ALTER TABLE ONLY public.team_mergedrow ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_message (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    post_id bigint NOT NULL,
    author_id bigint NOT NULL,
    subject character varying(150) NOT NULL,
    text text NOT NULL,
    among character varying(255) NOT NULL,
    include_not_asked boolean NOT NULL,
    state character varying(255) NOT NULL,
    failure character varying(255) NOT NULL,
    total integer,
    left_out jsonb,
    sent integer NOT NULL,
    skipped integer NOT NULL,
    failed integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone
);
ALTER TABLE ONLY public.team_message ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_messagerecipient (
    account_id bigint NOT NULL,
    message_id bigint NOT NULL,
    email_key text NOT NULL,
    email character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    greeting character varying(255) NOT NULL,
    client_id bigint,
    contact_id bigint,
    state character varying(255) NOT NULL,
    reason character varying(255) NOT NULL,
    attempts integer NOT NULL,
    due_at timestamp with time zone NOT NULL,
    claimed_at timestamp with time zone,
    sent_at timestamp with time zone,
    CONSTRAINT message_to_client_or_contact CHECK ((((client_id IS NOT NULL) AND (contact_id IS NULL)) OR ((client_id IS NULL) AND (contact_id IS NOT NULL))))
);
ALTER TABLE ONLY public.team_messagerecipient ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_movedrow (
    move_in_id bigint NOT NULL,
    kind character varying(255) NOT NULL,
    source character varying(255) NOT NULL,
    target bigint NOT NULL,
    taken jsonb NOT NULL,
    written jsonb NOT NULL,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.team_movedrow ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_movein (
    id bigint NOT NULL,
    author_id bigint NOT NULL,
    address character varying(255) NOT NULL,
    forum character varying(255) NOT NULL,
    credentials text NOT NULL,
    state character varying(255) NOT NULL,
    failure text NOT NULL,
    run integer NOT NULL,
    "position" jsonb NOT NULL,
    attempts integer NOT NULL,
    counts jsonb NOT NULL,
    report jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    account_id bigint NOT NULL
);
ALTER TABLE ONLY public.team_movein ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_postbacker (
    account_id bigint NOT NULL,
    post_id bigint NOT NULL,
    client_id bigint NOT NULL
);
ALTER TABLE ONLY public.team_postbacker ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_postrevenue (
    account_id bigint NOT NULL,
    post_id bigint NOT NULL,
    currency text NOT NULL,
    forum_id bigint NOT NULL,
    clients integer NOT NULL,
    open_deals integer NOT NULL,
    open_sum numeric(30,6) NOT NULL,
    won_deals integer NOT NULL,
    won_sum numeric(30,6) NOT NULL,
    total numeric(31,6) GENERATED ALWAYS AS ((open_sum + won_sum)) STORED
);
ALTER TABLE ONLY public.team_postrevenue ALTER COLUMN account_id SET (n_distinct=2);

CREATE SEQUENCE public.team_revenuechange_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.team_revenuechange (
    account_id bigint NOT NULL,
    number bigint DEFAULT nextval('public.team_revenuechange_numbers'::regclass) NOT NULL,
    kind text NOT NULL,
    row_id bigint NOT NULL,
    due_at timestamp with time zone DEFAULT statement_timestamp() NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY public.team_revenuechange ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.team_savedview (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    resource character varying(255) NOT NULL,
    name character varying(60) NOT NULL,
    query character varying(4000) NOT NULL,
    shared boolean NOT NULL,
    owner_id bigint NOT NULL,
    "position" integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.team_savedview ALTER COLUMN account_id SET (n_distinct=2);

CREATE SEQUENCE public.team_timelineentry_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.team_timelineentry (
    account_id bigint NOT NULL,
    number bigint DEFAULT nextval('public.team_timelineentry_numbers'::regclass) NOT NULL,
    client_id bigint,
    contact_id bigint,
    deal_id bigint,
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    resource text NOT NULL,
    resource_id bigint NOT NULL,
    user_id bigint,
    data jsonb NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.team_timelineentry ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.webhooks_delivery (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    cause character varying(255) NOT NULL,
    message character varying(255) NOT NULL,
    event character varying(255) NOT NULL,
    number bigint,
    attempt integer NOT NULL,
    at timestamp with time zone NOT NULL,
    duration_ms integer NOT NULL,
    status integer,
    error character varying(255),
    request text NOT NULL,
    response text NOT NULL,
    set_aside boolean NOT NULL
);
ALTER TABLE ONLY public.webhooks_delivery ALTER COLUMN account_id SET (n_distinct=2);

CREATE TABLE public.webhooks_endpoint (
    account_id bigint NOT NULL,
    id bigint NOT NULL,
    url character varying(2000) NOT NULL,
    events text[],
    format character varying(255) NOT NULL,
    includes_imports boolean NOT NULL,
    enabled boolean NOT NULL,
    disabled_reason character varying(255),
    secret text NOT NULL,
    previous_secret text,
    previous_secret_expires_at timestamp with time zone,
    failing_since timestamp with time zone,
    rejected_since timestamp with time zone,
    delivered_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    name character varying(255) DEFAULT ''::character varying NOT NULL,
    skips_after bigint,
    skips_to bigint
);
ALTER TABLE ONLY public.webhooks_endpoint ALTER COLUMN account_id SET (n_distinct=2);

ALTER TABLE ONLY account_ids.counter
    ADD CONSTRAINT counter_pkey PRIMARY KEY (account_id, last);

ALTER TABLE ONLY public.accounts_account
    ADD CONSTRAINT account_partner_key_unique UNIQUE (partner_key);

ALTER TABLE ONLY public.accounts_account
    ADD CONSTRAINT account_prefix_unique UNIQUE (prefix);

ALTER TABLE ONLY public.accounts_accountinvitation
    ADD CONSTRAINT accountinvitation_digest_unique UNIQUE (digest);

ALTER TABLE ONLY public.accounts_account
    ADD CONSTRAINT accounts_account_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_accountinvitation
    ADD CONSTRAINT accounts_accountinvitation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_apitoken
    ADD CONSTRAINT accounts_apitoken_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_attachment
    ADD CONSTRAINT accounts_attachment_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_auditentry
    ADD CONSTRAINT accounts_auditentry_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_branding
    ADD CONSTRAINT accounts_branding_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.accounts_fielddefinition
    ADD CONSTRAINT accounts_fielddefinition_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_formerprefix
    ADD CONSTRAINT accounts_formerprefix_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_group
    ADD CONSTRAINT accounts_group_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_handover
    ADD CONSTRAINT accounts_handover_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_host
    ADD CONSTRAINT accounts_host_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_identity
    ADD CONSTRAINT accounts_identity_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_invitation
    ADD CONSTRAINT accounts_invitation_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_oidcprovider
    ADD CONSTRAINT accounts_oidcprovider_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.accounts_pipeline
    ADD CONSTRAINT accounts_pipeline_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_plan
    ADD CONSTRAINT accounts_plan_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_secondfactor
    ADD CONSTRAINT accounts_secondfactor_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_session
    ADD CONSTRAINT accounts_session_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_shopsignin
    ADD CONSTRAINT accounts_shopsignin_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.accounts_signincode
    ADD CONSTRAINT accounts_signincode_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_status
    ADD CONSTRAINT accounts_status_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_storeddraft
    ADD CONSTRAINT accounts_storeddraft_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_tag
    ADD CONSTRAINT accounts_tag_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_tagcount
    ADD CONSTRAINT accounts_tagcount_pkey PRIMARY KEY (account_id, kind, tag_id, shard);

ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.accounts_apitoken
    ADD CONSTRAINT apitoken_digest_unique UNIQUE (digest);

ALTER TABLE ONLY public.team_calendarfeed
    ADD CONSTRAINT calendarfeed_digest UNIQUE (account_id, digest);

ALTER TABLE ONLY public.team_calendarfeed
    ADD CONSTRAINT calendarfeed_of_user UNIQUE (account_id, user_id);

ALTER TABLE ONLY public.forum_category
    ADD CONSTRAINT category_name_unique UNIQUE (account_id, forum_id, name_key);

ALTER TABLE ONLY public.forum_contentreport
    ADD CONSTRAINT contentreport_comment_unique UNIQUE (account_id, comment_id, user_id);

ALTER TABLE ONLY public.forum_contentreport
    ADD CONSTRAINT contentreport_post_unique UNIQUE (account_id, post_id, user_id);

ALTER TABLE ONLY public.core_change
    ADD CONSTRAINT core_change_pkey PRIMARY KEY (account_id, "position");

ALTER TABLE ONLY public.core_follower
    ADD CONSTRAINT core_follower_pkey PRIMARY KEY (account_id, name, key);

ALTER TABLE ONLY public.core_heartbeat
    ADD CONSTRAINT core_heartbeat_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.core_idempotentanswer
    ADD CONSTRAINT core_idempotentanswer_pkey PRIMARY KEY (account_id, caller, key);

ALTER TABLE ONLY public.core_job
    ADD CONSTRAINT core_job_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.core_periodictime
    ADD CONSTRAINT core_periodictime_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.core_ratecount
    ADD CONSTRAINT core_ratecount_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.core_staleword
    ADD CONSTRAINT core_staleword_pkey PRIMARY KEY (account_id, kind, word, recorded_by);

ALTER TABLE ONLY public.core_storedfile
    ADD CONSTRAINT core_storedfile_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.core_word
    ADD CONSTRAINT core_word_pkey PRIMARY KEY (account_id, kind, word, recorded_by);

ALTER TABLE ONLY public.crm_client
    ADD CONSTRAINT crm_client_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.crm_clientexternalid
    ADD CONSTRAINT crm_clientexternalid_pkey PRIMARY KEY (account_id, key, value);

ALTER TABLE ONLY public.crm_clientlastchange
    ADD CONSTRAINT crm_clientlastchange_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.crm_contact
    ADD CONSTRAINT crm_contact_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.crm_contactexternalid
    ADD CONSTRAINT crm_contactexternalid_pkey PRIMARY KEY (account_id, key, value);

ALTER TABLE ONLY public.crm_contactlastchange
    ADD CONSTRAINT crm_contactlastchange_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.crm_contactlist
    ADD CONSTRAINT crm_contactlist_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.crm_contactlistcount
    ADD CONSTRAINT crm_contactlistcount_pkey PRIMARY KEY (account_id, contact_list_id, shard);

ALTER TABLE ONLY public.crm_contactlistmembership
    ADD CONSTRAINT crm_contactlistmembership_pkey PRIMARY KEY (account_id, contact_id, contact_list_id);

ALTER TABLE ONLY public.crm_deal
    ADD CONSTRAINT crm_deal_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.crm_dealcount
    ADD CONSTRAINT crm_dealcount_pkey PRIMARY KEY (account_id, status_id, currency, responsible_id, number);

ALTER TABLE ONLY public.crm_dealexternalid
    ADD CONSTRAINT crm_dealexternalid_pkey PRIMARY KEY (account_id, key, value);

ALTER TABLE ONLY public.crm_deallastchange
    ADD CONSTRAINT crm_deallastchange_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.crm_dealstage
    ADD CONSTRAINT crm_dealstage_pkey PRIMARY KEY (account_id, deal_id, number);

ALTER TABLE ONLY public.crm_note
    ADD CONSTRAINT crm_note_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.crm_userlink
    ADD CONSTRAINT crm_userlink_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.django_migrations
    ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts_fielddefinition
    ADD CONSTRAINT field_key_unique UNIQUE (account_id, resource, key);

ALTER TABLE ONLY public.accounts_fielddefinition
    ADD CONSTRAINT field_label_unique UNIQUE (account_id, resource, label);

ALTER TABLE ONLY public.forum_follow
    ADD CONSTRAINT follow_unique UNIQUE (account_id, post_id, user_id);

ALTER TABLE ONLY public.accounts_formerprefix
    ADD CONSTRAINT former_prefix_unique UNIQUE (prefix);

ALTER TABLE ONLY public.forum_activity
    ADD CONSTRAINT forum_activity_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_answer
    ADD CONSTRAINT forum_answer_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_category
    ADD CONSTRAINT forum_category_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_comment
    ADD CONSTRAINT forum_comment_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_commentreaction
    ADD CONSTRAINT forum_commentreaction_pkey PRIMARY KEY (account_id, comment_id, user_id, kind);

ALTER TABLE ONLY public.forum_commentversion
    ADD CONSTRAINT forum_commentversion_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_contentreport
    ADD CONSTRAINT forum_contentreport_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_facetcount
    ADD CONSTRAINT forum_facetcount_pkey PRIMARY KEY (account_id, forum_id, level, tag, category_id, status_id, kind, visibility, number);

ALTER TABLE ONLY public.forum_follow
    ADD CONSTRAINT forum_follow_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_forum
    ADD CONSTRAINT forum_forum_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_forumaddress
    ADD CONSTRAINT forum_forumaddress_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_forummember
    ADD CONSTRAINT forum_forummember_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_forum
    ADD CONSTRAINT forum_host_unique UNIQUE (account_id, host_id);

ALTER TABLE ONLY public.forum_notification
    ADD CONSTRAINT forum_notification_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_postsortkey
    ADD CONSTRAINT forum_postsortkey_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_proxyvote
    ADD CONSTRAINT forum_proxyvote_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_savedreply
    ADD CONSTRAINT forum_savedreply_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_statuschange
    ADD CONSTRAINT forum_statuschange_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.forum_vote
    ADD CONSTRAINT forum_vote_pkey PRIMARY KEY (account_id, post_id, user_id);

ALTER TABLE ONLY public.forum_votechange
    ADD CONSTRAINT forum_votechange_pkey PRIMARY KEY (account_id, number);

ALTER TABLE ONLY public.forum_forumaddress
    ADD CONSTRAINT forumaddress_unique UNIQUE (account_id, forum_id, address_key);

ALTER TABLE ONLY public.forum_forummember
    ADD CONSTRAINT forummember_unique UNIQUE (account_id, forum_id, user_id);

ALTER TABLE ONLY public.team_goal
    ADD CONSTRAINT goal_unique UNIQUE NULLS NOT DISTINCT (account_id, user_id, period, measure);

ALTER TABLE ONLY public.accounts_group
    ADD CONSTRAINT group_name_key_unique UNIQUE (account_id, name_key);

ALTER TABLE ONLY public.accounts_handover
    ADD CONSTRAINT handover_digest_unique UNIQUE (account_id, digest);

ALTER TABLE ONLY public.accounts_host
    ADD CONSTRAINT host_name_of_account UNIQUE (account_id, name);

ALTER TABLE ONLY public.accounts_host
    ADD CONSTRAINT host_of_account UNIQUE (account_id, id);

ALTER TABLE ONLY public.accounts_identity
    ADD CONSTRAINT identity_unique UNIQUE (account_id, provider, subject);

ALTER TABLE ONLY public.accounts_invitation
    ADD CONSTRAINT invitation_email_unique UNIQUE (account_id, email_key);

ALTER TABLE ONLY public.team_movein
    ADD CONSTRAINT move_in_address_unique UNIQUE (account_id, address);

ALTER TABLE ONLY public.forum_notification
    ADD CONSTRAINT notification_unique UNIQUE (account_id, activity_id, user_id);

ALTER TABLE ONLY public.core_periodictime
    ADD CONSTRAINT periodic_time_name UNIQUE (name);

ALTER TABLE ONLY public.accounts_pipeline
    ADD CONSTRAINT pipeline_name_key_unique UNIQUE (account_id, name_key);

ALTER TABLE ONLY public.accounts_plan
    ADD CONSTRAINT plan_name_unique UNIQUE (name);

ALTER TABLE ONLY public.forum_proxyvote
    ADD CONSTRAINT proxyvote_client_unique UNIQUE (account_id, post_id, client_id);

ALTER TABLE ONLY public.forum_proxyvote
    ADD CONSTRAINT proxyvote_contact_unique UNIQUE (account_id, post_id, contact_id);

ALTER TABLE ONLY public.forum_savedreply
    ADD CONSTRAINT savedreply_name_unique UNIQUE (account_id, name_key);

ALTER TABLE ONLY public.team_savedview
    ADD CONSTRAINT savedview_name_unique UNIQUE (account_id, owner_id, resource, name);

ALTER TABLE ONLY public.accounts_session
    ADD CONSTRAINT session_digest_unique UNIQUE (account_id, digest);

ALTER TABLE ONLY public.accounts_signincode
    ADD CONSTRAINT signincode_browser_unique UNIQUE (account_id, browser);

ALTER TABLE ONLY public.accounts_status
    ADD CONSTRAINT status_code_key_unique UNIQUE (account_id, kind, code_key);

ALTER TABLE ONLY public.accounts_storeddraft
    ADD CONSTRAINT storeddraft_digest_unique UNIQUE (account_id, digest);

ALTER TABLE ONLY public.accounts_tag
    ADD CONSTRAINT tag_name_unique UNIQUE (account_id, name_key);

ALTER TABLE ONLY public.team_bulkchange
    ADD CONSTRAINT team_bulkchange_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.team_bulkchangerow
    ADD CONSTRAINT team_bulkchangerow_pkey PRIMARY KEY (account_id, batch_id, resource, target);

ALTER TABLE ONLY public.team_calendarfeed
    ADD CONSTRAINT team_calendarfeed_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.team_clientkey
    ADD CONSTRAINT team_clientkey_pkey PRIMARY KEY (account_id, client_id, kind, key);

ALTER TABLE ONLY public.team_clientrevenue
    ADD CONSTRAINT team_clientrevenue_pkey PRIMARY KEY (account_id, client_id, currency);

ALTER TABLE ONLY public.team_clientsummary
    ADD CONSTRAINT team_clientsummary_pkey PRIMARY KEY (account_id, client_id);

ALTER TABLE ONLY public.team_contactkey
    ADD CONSTRAINT team_contactkey_pkey PRIMARY KEY (account_id, contact_id, kind, key);

ALTER TABLE ONLY public.team_contactsummary
    ADD CONSTRAINT team_contactsummary_pkey PRIMARY KEY (account_id, contact_id);

ALTER TABLE ONLY public.team_dealsummary
    ADD CONSTRAINT team_dealsummary_pkey PRIMARY KEY (account_id, deal_id);

ALTER TABLE ONLY public.team_export
    ADD CONSTRAINT team_export_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.team_goal
    ADD CONSTRAINT team_goal_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.team_import
    ADD CONSTRAINT team_import_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.team_importfault
    ADD CONSTRAINT team_importfault_pkey PRIMARY KEY (account_id, import_id, number);

ALTER TABLE ONLY public.team_importkey
    ADD CONSTRAINT team_importkey_pkey PRIMARY KEY (account_id, import_id, key);

ALTER TABLE ONLY public.team_importrow
    ADD CONSTRAINT team_importrow_pkey PRIMARY KEY (account_id, batch_id, resource, target);

ALTER TABLE ONLY public.team_merge
    ADD CONSTRAINT team_merge_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.team_mergedrow
    ADD CONSTRAINT team_mergedrow_pkey PRIMARY KEY (account_id, merge_id, link, row_id);

ALTER TABLE ONLY public.team_message
    ADD CONSTRAINT team_message_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.team_messagerecipient
    ADD CONSTRAINT team_messagerecipient_pkey PRIMARY KEY (account_id, message_id, email_key);

ALTER TABLE ONLY public.team_movedrow
    ADD CONSTRAINT team_movedrow_pkey PRIMARY KEY (account_id, move_in_id, kind, source);

ALTER TABLE ONLY public.team_movein
    ADD CONSTRAINT team_movein_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.team_postbacker
    ADD CONSTRAINT team_postbacker_pkey PRIMARY KEY (account_id, post_id, client_id);

ALTER TABLE ONLY public.team_postrevenue
    ADD CONSTRAINT team_postrevenue_pkey PRIMARY KEY (account_id, post_id, currency);

ALTER TABLE ONLY public.team_revenuechange
    ADD CONSTRAINT team_revenuechange_pkey PRIMARY KEY (account_id, number);

ALTER TABLE ONLY public.team_savedview
    ADD CONSTRAINT team_savedview_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.team_timelineentry
    ADD CONSTRAINT team_timelineentry_pkey PRIMARY KEY (account_id, number);

ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT user_email_unique UNIQUE (account_id, email_key);

ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT user_login_unique UNIQUE (account_id, login_key);

ALTER TABLE ONLY public.crm_userlink
    ADD CONSTRAINT userlink_client_unique UNIQUE (account_id, user_id, client_id);

ALTER TABLE ONLY public.crm_userlink
    ADD CONSTRAINT userlink_contact_unique UNIQUE (account_id, user_id, contact_id);

ALTER TABLE ONLY public.webhooks_delivery
    ADD CONSTRAINT webhooks_delivery_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.webhooks_endpoint
    ADD CONSTRAINT webhooks_endpoint_pkey PRIMARY KEY (account_id, id);

CREATE UNIQUE INDEX activity_new_post_unique ON public.forum_activity USING btree (account_id, post_id) WHERE ((kind)::text = 'new_post'::text);

CREATE UNIQUE INDEX activity_note_unique ON public.forum_activity USING btree (account_id, note_id) WHERE (note_id IS NOT NULL);

CREATE INDEX activity_of_client ON public.team_timelineentry USING btree (account_id, client_id, at) WHERE ((client_id IS NOT NULL) AND (kind = ANY (ARRAY['note'::text, 'call'::text, 'meeting'::text, 'email'::text, 'task_done'::text, 'suggestion'::text, 'vote'::text, 'message'::text])));

CREATE INDEX activity_of_comment ON public.forum_activity USING btree (account_id, comment_id) WHERE (comment_id IS NOT NULL);

CREATE INDEX activity_of_contact ON public.team_timelineentry USING btree (account_id, contact_id, at) WHERE ((contact_id IS NOT NULL) AND (kind = ANY (ARRAY['note'::text, 'call'::text, 'meeting'::text, 'email'::text, 'task_done'::text, 'suggestion'::text, 'vote'::text, 'message'::text])));

CREATE INDEX activity_of_deal ON public.team_timelineentry USING btree (account_id, deal_id, at) WHERE ((deal_id IS NOT NULL) AND (kind = ANY (ARRAY['note'::text, 'call'::text, 'meeting'::text, 'email'::text, 'task_done'::text, 'suggestion'::text, 'vote'::text, 'message'::text])));

CREATE INDEX activity_of_post ON public.forum_activity USING btree (account_id, post_id, id);

CREATE INDEX activity_pending ON public.forum_activity USING btree (account_id, id) WHERE (NOT announced);

CREATE UNIQUE INDEX activity_reminder_unique ON public.forum_activity USING btree (account_id, post_id, scheduled_at) WHERE ((kind)::text = 'reminder'::text);

CREATE INDEX answer_of_post ON public.forum_answer USING btree (account_id, post_id, id);

CREATE INDEX answer_of_user ON public.forum_answer USING btree (account_id, user_id);

CREATE INDEX answer_scheduled ON public.forum_answer USING btree (publish_at) WHERE (((failure)::text = ''::text) AND (published_at IS NULL));

CREATE INDEX answer_with_status ON public.forum_answer USING btree (account_id, status_id) WHERE (status_id IS NOT NULL);

CREATE INDEX any_post_by_creation ON public.forum_post USING btree (account_id, created_at, id) WHERE ((category_id IS NOT NULL) AND (trashed_at IS NULL));

CREATE INDEX any_post_by_id ON public.forum_post USING btree (account_id, id) WHERE ((category_id IS NOT NULL) AND (trashed_at IS NULL));

CREATE INDEX apitoken_of_user ON public.accounts_apitoken USING btree (account_id, user_id);

CREATE INDEX attachment_of_file ON public.accounts_attachment USING btree (account_id, file_id);

CREATE INDEX attachment_of_row ON public.accounts_attachment USING btree (account_id, resource, row_id, id);

CREATE INDEX attachment_of_thumbnail ON public.accounts_attachment USING btree (account_id, thumbnail_id) WHERE (thumbnail_id IS NOT NULL);

CREATE INDEX attachment_of_user ON public.accounts_attachment USING btree (account_id, user_id, id);

CREATE INDEX audit_by_time ON public.accounts_auditentry USING btree (at);

CREATE INDEX audit_of_actor ON public.accounts_auditentry USING btree (account_id, actor_id, id);

CREATE INDEX audit_of_group ON public.accounts_auditentry USING btree (account_id, action_group, id);

CREATE INDEX bulk_change_active ON public.team_bulkchange USING btree (updated_at) WHERE ((state)::text = ANY ((ARRAY['running'::character varying, 'undoing'::character varying])::text[]));

CREATE INDEX bulk_change_by_creation ON public.team_bulkchange USING btree (created_at);

CREATE INDEX bulk_change_of_author ON public.team_bulkchange USING btree (account_id, author_id, id);

CREATE INDEX category_order ON public.forum_category USING btree (account_id, forum_id, "position", id);

CREATE UNIQUE INDEX change_numbered ON public.core_change USING btree (account_id, number) WHERE (number IS NOT NULL);

CREATE INDEX change_unnumbered ON public.core_change USING btree (account_id, "position") WHERE (number IS NULL);

CREATE INDEX client_by_additional_fields ON public.crm_client USING gin (account_id, additional_fields jsonb_path_ops) WITH (gin_pending_list_limit='1024') WHERE ((trashed_at IS NULL) AND (NOT (additional_fields = '{}'::jsonb)));

CREATE INDEX client_by_creation ON public.crm_client USING btree (account_id, created_at, id) WHERE (trashed_at IS NULL);

CREATE INDEX client_by_email ON public.crm_client USING btree (account_id, email_key, id) WHERE ((email_key IS NOT NULL) AND (trashed_at IS NULL));

CREATE INDEX client_by_id ON public.crm_client USING btree (account_id, id) WHERE (trashed_at IS NULL);

CREATE INDEX client_by_last_activity_at ON public.team_clientsummary USING btree (account_id, last_activity_at, client_id) WHERE (last_activity_at IS NOT NULL);

CREATE INDEX client_by_last_change ON public.crm_clientlastchange USING btree (account_id, updated_at, id);

CREATE INDEX client_by_name ON public.crm_client USING btree (account_id, search_name, id) WHERE (trashed_at IS NULL);

CREATE INDEX client_by_next_task_at ON public.team_clientsummary USING btree (account_id, next_task_at, client_id) WHERE (last_activity_at IS NOT NULL);

CREATE INDEX client_by_open_sum ON public.team_clientsummary USING btree (account_id, open_sum, client_id) WHERE (last_activity_at IS NOT NULL);

CREATE INDEX client_by_tax_no ON public.crm_client USING btree (account_id, search.compact((tax_no)::text), id) WHERE ((tax_no IS NOT NULL) AND (trashed_at IS NULL));

CREATE INDEX client_by_won_sum ON public.team_clientsummary USING btree (account_id, won_sum, client_id) WHERE (last_activity_at IS NOT NULL);

CREATE INDEX client_external_ids ON public.crm_clientexternalid USING btree (account_id, holder_id);

CREATE INDEX client_found ON public.crm_client USING gin (account_id, status_id, responsible_id, creator_id, updater_id, tags, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024') WHERE (trashed_at IS NULL);
ALTER INDEX public.client_found ALTER COLUMN 8 SET STATISTICS 0;

CREATE INDEX client_of_contact ON public.crm_client USING btree (account_id, contact_id) WHERE (contact_id IS NOT NULL);

CREATE INDEX client_of_trashed_contact ON public.crm_client USING btree (account_id, trashed_contact_id) WHERE (trashed_contact_id IS NOT NULL);

CREATE INDEX client_trash ON public.crm_client USING btree (account_id, trashed_at, id) WHERE (trashed_at IS NOT NULL);

CREATE INDEX clientkey_by_key ON public.team_clientkey USING btree (account_id, kind, key, is_shared, client_id);

CREATE INDEX clientkey_open ON public.team_clientkey USING btree (account_id, kind, key) WHERE ((NOT is_dismissed) AND is_shared);

CREATE INDEX comment_by_author ON public.forum_comment USING btree (account_id, user_id, created_at, id);

CREATE INDEX comment_from_post ON public.forum_comment USING btree (account_id, from_post_id) WHERE (from_post_id IS NOT NULL);

CREATE INDEX comment_marked ON public.forum_comment USING btree (account_id, post_id, id) WHERE ((pinned_at IS NOT NULL) OR helpful);

CREATE INDEX comment_of_parent ON public.forum_comment USING btree (account_id, parent_id, created_at, id) WHERE (parent_id IS NOT NULL);

CREATE INDEX comment_of_post ON public.forum_comment USING btree (account_id, post_id, created_at, id);

CREATE INDEX comment_waiting ON public.forum_comment USING btree (account_id, created_at, id) WHERE (NOT approved);

CREATE INDEX contact_by_additional_fields ON public.crm_contact USING gin (account_id, additional_fields jsonb_path_ops) WITH (gin_pending_list_limit='1024') WHERE ((trashed_at IS NULL) AND (NOT (additional_fields = '{}'::jsonb)));

CREATE INDEX contact_by_creation ON public.crm_contact USING btree (account_id, created_at, id) WHERE (trashed_at IS NULL);

CREATE INDEX contact_by_email ON public.crm_contact USING btree (account_id, email_key, id) WHERE ((email_key IS NOT NULL) AND (trashed_at IS NULL));

CREATE INDEX contact_by_id ON public.crm_contact USING btree (account_id, id) WHERE (trashed_at IS NULL);

CREATE INDEX contact_by_last_activity_at ON public.team_contactsummary USING btree (account_id, last_activity_at, contact_id) WHERE (last_activity_at IS NOT NULL);

CREATE INDEX contact_by_last_change ON public.crm_contactlastchange USING btree (account_id, updated_at, id);

CREATE INDEX contact_by_name ON public.crm_contact USING btree (account_id, search_name, id) WHERE (trashed_at IS NULL);

CREATE INDEX contact_by_next_task_at ON public.team_contactsummary USING btree (account_id, next_task_at, contact_id) WHERE (last_activity_at IS NOT NULL);

CREATE INDEX contact_external_ids ON public.crm_contactexternalid USING btree (account_id, holder_id);

CREATE INDEX contact_found ON public.crm_contact USING gin (account_id, responsible_id, creator_id, updater_id, tags, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024') WHERE (trashed_at IS NULL);
ALTER INDEX public.contact_found ALTER COLUMN 7 SET STATISTICS 0;

CREATE UNIQUE INDEX contact_list_name_key_unique ON public.crm_contactlist USING btree (account_id, name_key) WHERE (trashed_at IS NULL);

CREATE INDEX contact_list_trash ON public.crm_contactlist USING btree (account_id, trashed_at, id) WHERE (trashed_at IS NOT NULL);

CREATE INDEX contact_of_client ON public.crm_contact USING btree (account_id, client_id, id) WHERE (client_id IS NOT NULL);

CREATE INDEX contact_of_client_by_activity ON public.team_contactsummary USING btree (account_id, client_id, last_activity_at) WHERE ((client_id IS NOT NULL) AND (last_activity_at IS NOT NULL));

CREATE INDEX contact_of_client_by_task ON public.team_contactsummary USING btree (account_id, client_id, next_task_at) WHERE ((client_id IS NOT NULL) AND (next_task_at IS NOT NULL));

CREATE INDEX contact_of_trashed_client ON public.crm_contact USING btree (account_id, trashed_client_id) WHERE (trashed_client_id IS NOT NULL);

CREATE INDEX contact_trash ON public.crm_contact USING btree (account_id, trashed_at, id) WHERE (trashed_at IS NOT NULL);

CREATE INDEX contactkey_by_key ON public.team_contactkey USING btree (account_id, kind, key, is_shared, contact_id);

CREATE INDEX contactkey_open ON public.team_contactkey USING btree (account_id, kind, key) WHERE ((NOT is_dismissed) AND is_shared);

CREATE INDEX contactlist_by_name ON public.crm_contactlist USING btree (account_id, search_name, id) WHERE (trashed_at IS NULL);

CREATE INDEX contactlist_found ON public.crm_contactlist USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024') WHERE (trashed_at IS NULL);
ALTER INDEX public.contactlist_found ALTER COLUMN 3 SET STATISTICS 0;

CREATE INDEX contacts_of_list ON public.crm_contactlistmembership USING btree (account_id, contact_list_id, contact_id);

CREATE INDEX contentreport_of_user ON public.forum_contentreport USING btree (account_id, user_id);

CREATE INDEX contentreport_open ON public.forum_contentreport USING btree (account_id, created_at) WHERE (dismissed_at IS NULL);

CREATE INDEX deal_by_additional_fields ON public.crm_deal USING gin (account_id, additional_fields jsonb_path_ops) WITH (gin_pending_list_limit='1024') WHERE ((trashed_at IS NULL) AND (NOT (additional_fields = '{}'::jsonb)));

CREATE INDEX deal_by_closing ON public.crm_deal USING btree (account_id, closed_at, id) WHERE ((closed_at IS NOT NULL) AND (trashed_at IS NULL));

CREATE INDEX deal_by_closing_day ON public.crm_deal USING btree (account_id, COALESCE(expected_close_date, '9999-12-31'::date), id) WHERE (trashed_at IS NULL);

CREATE INDEX deal_by_creation ON public.crm_deal USING btree (account_id, created_at, id) WHERE (trashed_at IS NULL);

CREATE INDEX deal_by_expected_close ON public.crm_deal USING btree (account_id, expected_close_date, id) WHERE ((expected_close_date IS NOT NULL) AND (trashed_at IS NULL));

CREATE INDEX deal_by_id ON public.crm_deal USING btree (account_id, id) WHERE (trashed_at IS NULL);

CREATE INDEX deal_by_last_activity_at ON public.team_dealsummary USING btree (account_id, last_activity_at, deal_id) WHERE (last_activity_at IS NOT NULL);

CREATE INDEX deal_by_last_change ON public.crm_deallastchange USING btree (account_id, updated_at, id);

CREATE INDEX deal_by_name ON public.crm_deal USING btree (account_id, search_name, id) WHERE (trashed_at IS NULL);

CREATE INDEX deal_by_next_task_at ON public.team_dealsummary USING btree (account_id, next_task_at, deal_id) WHERE (last_activity_at IS NOT NULL);

CREATE INDEX deal_by_position ON public.crm_deal USING btree (account_id, status_id, board_position, id) WHERE ((status_id IS NOT NULL) AND (trashed_at IS NULL));

CREATE INDEX deal_by_price ON public.crm_deal USING btree (account_id, COALESCE(price, (0)::numeric), id) WHERE (trashed_at IS NULL);

CREATE INDEX deal_external_ids ON public.crm_dealexternalid USING btree (account_id, holder_id);

CREATE INDEX deal_found ON public.crm_deal USING gin (account_id, status_id, responsible_id, creator_id, updater_id, tags, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024') WHERE (trashed_at IS NULL);
ALTER INDEX public.deal_found ALTER COLUMN 8 SET STATISTICS 0;

CREATE INDEX deal_of_client ON public.crm_deal USING btree (account_id, client_id, id) WHERE (client_id IS NOT NULL);

CREATE INDEX deal_of_client_by_activity ON public.team_dealsummary USING btree (account_id, client_id, last_activity_at) WHERE ((client_id IS NOT NULL) AND (last_activity_at IS NOT NULL));

CREATE INDEX deal_of_client_by_task ON public.team_dealsummary USING btree (account_id, client_id, next_task_at) WHERE ((client_id IS NOT NULL) AND (next_task_at IS NOT NULL));

CREATE INDEX deal_of_contact ON public.crm_deal USING btree (account_id, contact_id, id) WHERE (contact_id IS NOT NULL);

CREATE INDEX deal_of_contact_by_activity ON public.team_dealsummary USING btree (account_id, contact_id, last_activity_at) WHERE ((contact_id IS NOT NULL) AND (last_activity_at IS NOT NULL));

CREATE INDEX deal_of_contact_by_task ON public.team_dealsummary USING btree (account_id, contact_id, next_task_at) WHERE ((contact_id IS NOT NULL) AND (next_task_at IS NOT NULL));

CREATE INDEX deal_of_trashed_client ON public.crm_deal USING btree (account_id, trashed_client_id) WHERE (trashed_client_id IS NOT NULL);

CREATE INDEX deal_of_trashed_contact ON public.crm_deal USING btree (account_id, trashed_contact_id) WHERE (trashed_contact_id IS NOT NULL);

CREATE INDEX deal_of_user_by_position ON public.crm_deal USING btree (account_id, responsible_id, status_id, board_position, id) WHERE ((responsible_id IS NOT NULL) AND (status_id IS NOT NULL) AND (trashed_at IS NULL));

CREATE INDEX deal_of_user_without_status ON public.crm_deal USING btree (account_id, responsible_id, board_position, id) WHERE ((responsible_id IS NOT NULL) AND (status_id IS NULL) AND (trashed_at IS NULL));

CREATE INDEX deal_stage_by_time ON public.crm_dealstage USING btree (account_id, entered_at);

CREATE UNIQUE INDEX deal_status_name_key_unique ON public.accounts_status USING btree (account_id, pipeline_id, name_key) WHERE ((kind)::text = 'deal'::text);

CREATE INDEX deal_trash ON public.crm_deal USING btree (account_id, trashed_at, id) WHERE (trashed_at IS NOT NULL);

CREATE INDEX deal_without_status ON public.crm_deal USING btree (account_id, board_position, id) WHERE ((status_id IS NULL) AND (trashed_at IS NULL));

CREATE INDEX delivery_at ON public.webhooks_delivery USING btree (at);

CREATE INDEX delivery_of_endpoint ON public.webhooks_delivery USING btree (account_id, endpoint_id, id);

CREATE INDEX export_expired ON public.team_export USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX export_of_author ON public.team_export USING btree (account_id, author_id, id);

CREATE INDEX export_of_file ON public.team_export USING btree (account_id, file_id) WHERE (file_id IS NOT NULL);

CREATE INDEX export_running ON public.team_export USING btree (updated_at) WHERE ((state)::text = 'running'::text);

CREATE INDEX fielddefinition_by_name ON public.accounts_fielddefinition USING btree (account_id, search_name, id);

CREATE INDEX fielddefinition_found ON public.accounts_fielddefinition USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024');
ALTER INDEX public.fielddefinition_found ALTER COLUMN 3 SET STATISTICS 0;

CREATE INDEX follower_due ON public.core_follower USING btree (name, due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX forum_by_segment ON public.forum_forum USING btree (account_id, segment_id) WHERE (segment_id IS NOT NULL);

CREATE UNIQUE INDEX forum_one_default ON public.forum_forum USING btree (account_id) WHERE is_default;

CREATE INDEX forummember_of_user ON public.forum_forummember USING btree (account_id, user_id);

CREATE INDEX forummember_pending ON public.forum_forummember USING btree (account_id, forum_id, user_id) WHERE ((state)::text = 'pending'::text);

CREATE INDEX group_by_name ON public.accounts_group USING btree (account_id, search_name, id);

CREATE INDEX group_found ON public.accounts_group USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024');
ALTER INDEX public.group_found ALTER COLUMN 3 SET STATISTICS 0;

CREATE INDEX handover_of_session ON public.accounts_handover USING btree (account_id, session_id);

CREATE UNIQUE INDEX host_name_unique ON public.accounts_host USING btree (name) WHERE (proven_at IS NOT NULL);

CREATE INDEX identity_of_user ON public.accounts_identity USING btree (account_id, user_id);

CREATE INDEX import_active ON public.team_import USING btree (updated_at) WHERE ((state)::text = ANY ((ARRAY['running'::character varying, 'undoing'::character varying])::text[]));

CREATE INDEX import_by_creation ON public.team_import USING btree (created_at);

CREATE INDEX import_draft ON public.team_import USING btree (updated_at, id) WHERE ((state)::text = 'draft'::text);

CREATE INDEX import_key_of_row ON public.team_importkey USING btree (account_id, import_id, kind, target) WHERE (target IS NOT NULL);

CREATE INDEX import_of_author ON public.team_import USING btree (account_id, author_id, id);

CREATE INDEX import_of_rows ON public.team_import USING btree (account_id, rows_id) WHERE (rows_id IS NOT NULL);

CREATE INDEX import_of_source ON public.team_import USING btree (account_id, source_id) WHERE (source_id IS NOT NULL);

CREATE INDEX job_due ON public.core_job USING btree (queue, scheduled_at) WHERE (NOT ((state)::text = 'failed'::text));

CREATE UNIQUE INDEX job_key ON public.core_job USING btree (key) WHERE ((state)::text = 'waiting'::text);

CREATE INDEX job_running ON public.core_job USING btree (queue, account_id) WHERE ((state)::text = 'running'::text);

CREATE INDEX job_turn ON public.core_job USING btree (queue, account_id, scheduled_at, id) WHERE (NOT ((state)::text = 'failed'::text));

CREATE INDEX member_found ON public.accounts_user USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024') WHERE ((role)::text = 'member'::text);
ALTER INDEX public.member_found ALTER COLUMN 3 SET STATISTICS 0;

CREATE INDEX merge_by_change ON public.team_merge USING btree (account_id, updated_at, id);

CREATE INDEX merge_by_creation ON public.team_merge USING btree (account_id, created_at, id);

CREATE INDEX merge_of_client ON public.team_merge USING btree (account_id, client_id, id) WHERE (client_id IS NOT NULL);

CREATE UNIQUE INDEX merge_of_client_once ON public.team_merge USING btree (account_id, merged_client_id) WHERE (undone_at IS NULL);

CREATE INDEX merge_of_contact ON public.team_merge USING btree (account_id, contact_id, id) WHERE (contact_id IS NOT NULL);

CREATE UNIQUE INDEX merge_of_contact_once ON public.team_merge USING btree (account_id, merged_contact_id) WHERE (undone_at IS NULL);

CREATE INDEX merge_of_merged_client ON public.team_merge USING btree (account_id, merged_client_id, id) WHERE (merged_client_id IS NOT NULL);

CREATE INDEX merge_of_merged_contact ON public.team_merge USING btree (account_id, merged_contact_id, id) WHERE (merged_contact_id IS NOT NULL);

CREATE INDEX message_active ON public.team_message USING btree (updated_at) WHERE ((state)::text = 'sending'::text);

CREATE INDEX message_by_start ON public.team_message USING btree (account_id, started_at);

CREATE INDEX message_draft ON public.team_message USING btree (account_id) WHERE ((state)::text = 'draft'::text);

CREATE INDEX message_of_post ON public.team_message USING btree (account_id, post_id, id);

CREATE INDEX message_recipient_client ON public.team_messagerecipient USING btree (account_id, client_id) WHERE (client_id IS NOT NULL);

CREATE INDEX message_recipient_contact ON public.team_messagerecipient USING btree (account_id, contact_id) WHERE (contact_id IS NOT NULL);

CREATE INDEX message_recipient_waiting ON public.team_messagerecipient USING btree (account_id, message_id, due_at) WHERE ((state)::text = ANY ((ARRAY['pending'::character varying, 'sending'::character varying])::text[]));

CREATE INDEX move_in_running ON public.team_movein USING btree (updated_at) WHERE ((state)::text = 'running'::text);

CREATE INDEX note_by_change ON public.crm_note USING btree (account_id, updated_at, id) WHERE (trashed_at IS NULL);

CREATE INDEX note_by_creation ON public.crm_note USING btree (account_id, created_at, id) WHERE (trashed_at IS NULL);

CREATE INDEX note_by_id ON public.crm_note USING btree (account_id, id) WHERE (trashed_at IS NULL);

CREATE INDEX note_found ON public.crm_note USING gin (account_id, creator_id, updater_id, kind, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024') WHERE (trashed_at IS NULL);
ALTER INDEX public.note_found ALTER COLUMN 6 SET STATISTICS 0;

CREATE INDEX note_of_client ON public.crm_note USING btree (account_id, client_id, id) WHERE (client_id IS NOT NULL);

CREATE INDEX note_of_contact ON public.crm_note USING btree (account_id, contact_id, id) WHERE (contact_id IS NOT NULL);

CREATE INDEX note_of_deal ON public.crm_note USING btree (account_id, deal_id, id) WHERE (deal_id IS NOT NULL);

CREATE INDEX note_of_trashed_client ON public.crm_note USING btree (account_id, trashed_client_id) WHERE (trashed_client_id IS NOT NULL);

CREATE INDEX note_of_trashed_contact ON public.crm_note USING btree (account_id, trashed_contact_id) WHERE (trashed_contact_id IS NOT NULL);

CREATE INDEX note_of_trashed_deal ON public.crm_note USING btree (account_id, trashed_deal_id) WHERE (trashed_deal_id IS NOT NULL);

CREATE INDEX note_trash ON public.crm_note USING btree (account_id, trashed_at, id) WHERE (trashed_at IS NOT NULL);

CREATE INDEX notification_due ON public.forum_notification USING btree (mail_at) WHERE (mail_at IS NOT NULL);

CREATE INDEX notification_of_user ON public.forum_notification USING btree (account_id, user_id, id DESC);

CREATE INDEX notification_unread ON public.forum_notification USING btree (account_id, user_id, id DESC) WHERE (read_at IS NULL);

CREATE INDEX notification_waiting ON public.forum_notification USING btree (account_id, user_id) WHERE (mail_at IS NOT NULL);

CREATE INDEX pipeline_by_name ON public.accounts_pipeline USING btree (account_id, search_name, id);

CREATE INDEX pipeline_found ON public.accounts_pipeline USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024');
ALTER INDEX public.pipeline_found ALTER COLUMN 3 SET STATISTICS 0;

CREATE INDEX post_backer_by_client ON public.team_postbacker USING btree (account_id, client_id, post_id);

CREATE INDEX post_by_additional_fields ON public.forum_post USING gin (account_id, additional_fields jsonb_path_ops) WITH (gin_pending_list_limit='1024') WHERE ((trashed_at IS NULL) AND (NOT (additional_fields = '{}'::jsonb)));

CREATE INDEX post_by_age ON public.forum_post USING btree (account_id, category_id, visibility, created_at, id);

CREATE INDEX post_by_author ON public.forum_post USING btree (account_id, user_id, created_at, id) WHERE ((category_id IS NOT NULL) AND (trashed_at IS NULL));

CREATE INDEX post_by_clients ON public.team_postrevenue USING btree (account_id, forum_id, currency, clients, post_id);

CREATE INDEX post_by_original ON public.forum_post USING btree (account_id, duplicate_from_id, id) WHERE (duplicate_from_id IS NOT NULL);

CREATE INDEX post_by_response ON public.forum_post USING btree (account_id, response_user_id, id) WHERE (response_user_id IS NOT NULL);

CREATE INDEX post_by_revenue ON public.team_postrevenue USING btree (account_id, forum_id, currency, total, post_id);

CREATE INDEX post_by_source_id ON public.forum_post USING btree (account_id, ((additional_fields ->> 'source_id'::text))) WHERE (additional_fields ? 'source_id'::text);

CREATE INDEX post_by_status ON public.forum_post USING btree (account_id, category_id, visibility, status_id, created_at, id);

CREATE INDEX post_by_status_before_merge ON public.forum_post USING btree (account_id, status_before_merge_id, id) WHERE (status_before_merge_id IS NOT NULL);

CREATE INDEX post_by_target ON public.forum_post USING btree (account_id, forum_id, status_id, target_on, id) WHERE ((target_on IS NOT NULL) AND (visibility = 1));

CREATE INDEX post_by_title ON public.forum_post USING btree (account_id, lower((title)::text)) WHERE (trashed_at IS NULL);

CREATE INDEX post_closed_own ON public.forum_post USING btree (account_id, user_id, category_id) WHERE (visibility = 2);

CREATE INDEX post_found ON public.forum_post USING gin (account_id, category_id, forum_id, status_id, responsible_id, user_id, tags, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024') WHERE (trashed_at IS NULL);
ALTER INDEX public.post_found ALTER COLUMN 9 SET STATISTICS 0;

CREATE INDEX post_inbox_mine ON public.forum_post USING btree (account_id, forum_id, responsible_id, created_at, id) WHERE ((NOT closed) AND (responsible_id IS NOT NULL) AND (category_id IS NOT NULL) AND (duplicate_from_id IS NULL) AND (trashed_at IS NULL));

CREATE INDEX post_inbox_new ON public.forum_post USING btree (account_id, forum_id, created_at, id) WHERE ((handled_at IS NULL) AND (category_id IS NOT NULL) AND (duplicate_from_id IS NULL) AND (trashed_at IS NULL));

CREATE INDEX post_inbox_unanswered ON public.forum_post USING btree (account_id, forum_id, created_at, id) WHERE ((answered_at IS NULL) AND approved AND (NOT closed) AND (response_user_id IS NULL) AND (category_id IS NOT NULL) AND (duplicate_from_id IS NULL) AND (trashed_at IS NULL));

CREATE INDEX post_of_client ON public.forum_post USING btree (account_id, client_id, id) WHERE (client_id IS NOT NULL);

CREATE INDEX post_of_contact ON public.forum_post USING btree (account_id, contact_id, id) WHERE (contact_id IS NOT NULL);

CREATE INDEX post_of_deal ON public.forum_post USING btree (account_id, deal_id, id) WHERE (deal_id IS NOT NULL);

CREATE INDEX post_of_forum_by_age ON public.forum_post USING btree (account_id, forum_id, visibility, created_at, id);

CREATE INDEX post_of_forum_by_kind ON public.forum_post USING btree (account_id, forum_id, kind, id) WHERE ((visibility > 0) AND (NOT ((kind)::text = 'suggestion'::text)));

CREATE INDEX post_of_trashed_client ON public.forum_post USING btree (account_id, trashed_client_id) WHERE (trashed_client_id IS NOT NULL);

CREATE INDEX post_of_trashed_contact ON public.forum_post USING btree (account_id, trashed_contact_id) WHERE (trashed_contact_id IS NOT NULL);

CREATE INDEX post_of_trashed_deal ON public.forum_post USING btree (account_id, trashed_deal_id) WHERE (trashed_deal_id IS NOT NULL);

CREATE INDEX post_tasks ON public.forum_post USING btree (account_id, closed, created_at DESC, id DESC) WHERE ((category_id IS NULL) AND (trashed_at IS NULL));

CREATE INDEX post_trash ON public.forum_post USING btree (account_id, trashed_at, id) WHERE (trashed_at IS NOT NULL);

CREATE INDEX post_waiting ON public.forum_post USING btree (account_id, forum_id, created_at, id) WHERE ((NOT approved) AND (category_id IS NOT NULL) AND (trashed_at IS NULL));

CREATE INDEX proxyvote_from_post ON public.forum_proxyvote USING btree (account_id, from_post_id) WHERE (from_post_id IS NOT NULL);

CREATE INDEX proxyvote_of_client ON public.forum_proxyvote USING btree (account_id, client_id) WHERE (client_id IS NOT NULL);

CREATE INDEX proxyvote_of_contact ON public.forum_proxyvote USING btree (account_id, contact_id) WHERE (contact_id IS NOT NULL);

CREATE INDEX reaction_of_user ON public.forum_commentreaction USING btree (account_id, user_id);

CREATE INDEX revenue_change_due ON public.team_revenuechange USING btree (due_at);

CREATE INDEX revenue_change_of_account ON public.team_revenuechange USING btree (account_id, due_at, number);

CREATE INDEX savedview_shared ON public.team_savedview USING btree (account_id, resource, "position", id) WHERE shared;

CREATE UNIQUE INDEX secondfactor_credential_unique ON public.accounts_secondfactor USING btree (account_id, credential_key) WHERE (credential_key IS NOT NULL);

CREATE INDEX secondfactor_of_user ON public.accounts_secondfactor USING btree (account_id, user_id, kind);

CREATE INDEX session_of_user ON public.accounts_session USING btree (account_id, user_id);

CREATE INDEX sort_key_by_activity ON public.forum_postsortkey USING btree (account_id, category_id, visibility, updated_at, id) WHERE (category_id IS NOT NULL);

CREATE INDEX sort_key_by_comments ON public.forum_postsortkey USING btree (account_id, category_id, visibility, comments_cache, id) WHERE (category_id IS NOT NULL);

CREATE INDEX sort_key_by_votes ON public.forum_postsortkey USING btree (account_id, category_id, visibility, votes_cache, id) WHERE (category_id IS NOT NULL);

CREATE INDEX sort_key_of_forum_by_activity ON public.forum_postsortkey USING btree (account_id, forum_id, visibility, updated_at, id) WHERE (forum_id IS NOT NULL);

CREATE INDEX sort_key_of_forum_by_comments ON public.forum_postsortkey USING btree (account_id, forum_id, visibility, comments_cache, id) WHERE (forum_id IS NOT NULL);

CREATE INDEX sort_key_of_forum_by_trend ON public.forum_postsortkey USING btree (account_id, forum_id, visibility, trending, id) WHERE (forum_id IS NOT NULL);

CREATE INDEX sort_key_of_forum_by_votes ON public.forum_postsortkey USING btree (account_id, forum_id, visibility, votes_cache, id) WHERE (forum_id IS NOT NULL);

CREATE INDEX sort_key_of_post_by_change ON public.forum_postsortkey USING btree (account_id, updated_at, id) WHERE (category_id IS NOT NULL);

CREATE INDEX sort_key_of_roadmap ON public.forum_postsortkey USING btree (account_id, forum_id, status_id, votes_cache, id) WHERE (visibility = 1);

CREATE INDEX sort_key_of_task_by_change ON public.forum_postsortkey USING btree (account_id, updated_at, id) WHERE (category_id IS NULL);

CREATE INDEX status_by_name ON public.accounts_status USING btree (account_id, search_name, id);

CREATE INDEX status_found ON public.accounts_status USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024');
ALTER INDEX public.status_found ALTER COLUMN 3 SET STATISTICS 0;

CREATE UNIQUE INDEX status_name_key_unique ON public.accounts_status USING btree (account_id, kind, name_key) WHERE (NOT ((kind)::text = 'deal'::text));

CREATE INDEX statuschange_of_post ON public.forum_statuschange USING btree (account_id, post_id, created_at, id);

CREATE INDEX storedfile_expired ON public.core_storedfile USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX storedfile_sizes ON public.core_storedfile USING btree (account_id, expires_at) INCLUDE (size);

CREATE INDEX task_by_completion ON public.forum_post USING btree (account_id, completed_at, id) WHERE ((category_id IS NULL) AND (trashed_at IS NULL));

CREATE INDEX task_by_creation ON public.forum_post USING btree (account_id, created_at, id) WHERE ((category_id IS NULL) AND (trashed_at IS NULL));

CREATE INDEX task_by_id ON public.forum_post USING btree (account_id, id) WHERE ((category_id IS NULL) AND (trashed_at IS NULL));

CREATE INDEX task_by_schedule ON public.forum_post USING btree (account_id, scheduled_at, id) WHERE ((category_id IS NULL) AND (trashed_at IS NULL));

CREATE INDEX task_done_by_responsible ON public.forum_post USING btree (account_id, responsible_id, completed_at, id) WHERE ((category_id IS NULL) AND (trashed_at IS NULL) AND closed AND (responsible_id IS NOT NULL));

CREATE INDEX task_of_client ON public.forum_post USING btree (account_id, client_id, scheduled_at) WHERE ((category_id IS NULL) AND (NOT closed) AND (trashed_at IS NULL) AND (client_id IS NOT NULL) AND (scheduled_at IS NOT NULL));

CREATE INDEX task_of_contact ON public.forum_post USING btree (account_id, contact_id, scheduled_at) WHERE ((category_id IS NULL) AND (NOT closed) AND (trashed_at IS NULL) AND (contact_id IS NOT NULL) AND (scheduled_at IS NOT NULL));

CREATE INDEX task_of_deal ON public.forum_post USING btree (account_id, deal_id, scheduled_at) WHERE ((category_id IS NULL) AND (NOT closed) AND (trashed_at IS NULL) AND (deal_id IS NOT NULL) AND (scheduled_at IS NOT NULL));

CREATE INDEX task_of_responsible ON public.forum_post USING btree (account_id, responsible_id, scheduled_at, id) WHERE ((category_id IS NULL) AND (NOT closed) AND (trashed_at IS NULL) AND (responsible_id IS NOT NULL));

CREATE INDEX task_open ON public.forum_post USING btree (account_id, scheduled_at, id) WHERE ((category_id IS NULL) AND (NOT closed) AND (trashed_at IS NULL));

CREATE INDEX task_reminder_time ON public.forum_post USING btree (COALESCE(remind_at, scheduled_at)) WHERE ((category_id IS NULL) AND (NOT closed) AND (trashed_at IS NULL) AND (responsible_id IS NOT NULL) AND ((remind_at IS NOT NULL) OR (scheduled_at IS NOT NULL)));

CREATE INDEX timeline_of_client ON public.team_timelineentry USING btree (account_id, client_id, at, number) WHERE (client_id IS NOT NULL);

CREATE INDEX timeline_of_contact ON public.team_timelineentry USING btree (account_id, contact_id, at, number) WHERE (contact_id IS NOT NULL);

CREATE INDEX timeline_of_deal ON public.team_timelineentry USING btree (account_id, deal_id, at, number) WHERE (deal_id IS NOT NULL);

CREATE UNIQUE INDEX timeline_of_row ON public.team_timelineentry USING btree (account_id, resource, resource_id, kind) WHERE (kind = ANY (ARRAY['note'::text, 'call'::text, 'meeting'::text, 'email'::text, 'task'::text, 'task_done'::text, 'deal'::text, 'suggestion'::text, 'vote'::text]));

CREATE INDEX user_by_name ON public.accounts_user USING btree (account_id, search_name, id) WHERE ((role)::text = ANY ((ARRAY['owner'::character varying, 'admin'::character varying, 'agent'::character varying])::text[]));

CREATE INDEX user_email_skeleton ON public.accounts_user USING btree (account_id, email_skeleton);

CREATE INDEX user_found ON public.accounts_user USING gin (account_id, search_words, search.parts(account_id, search_text)) WITH (gin_pending_list_limit='1024') WHERE ((role)::text = ANY ((ARRAY['owner'::character varying, 'admin'::character varying, 'agent'::character varying])::text[]));
ALTER INDEX public.user_found ALTER COLUMN 3 SET STATISTICS 0;

CREATE INDEX user_login_skeleton ON public.accounts_user USING btree (account_id, login_skeleton);

CREATE INDEX user_notified_of_all ON public.accounts_user USING btree (account_id, id) WHERE ((notification)::text = 'all'::text);

CREATE INDEX user_of_group ON public.accounts_user USING btree (account_id, group_id) WHERE (group_id IS NOT NULL);

CREATE INDEX user_team ON public.accounts_user USING btree (account_id, name, id) WHERE ((role)::text = ANY ((ARRAY['owner'::character varying, 'admin'::character varying, 'agent'::character varying])::text[]));

CREATE INDEX userlink_by_state ON public.crm_userlink USING btree (account_id, state, id);

CREATE UNIQUE INDEX userlink_confirmed_unique ON public.crm_userlink USING btree (account_id, user_id) WHERE ((state)::text = 'confirmed'::text);

CREATE INDEX userlink_of_client ON public.crm_userlink USING btree (account_id, client_id, id) WHERE (client_id IS NOT NULL);

CREATE INDEX userlink_of_contact ON public.crm_userlink USING btree (account_id, contact_id, id) WHERE (contact_id IS NOT NULL);

CREATE INDEX userlink_of_trashed_client ON public.crm_userlink USING btree (account_id, trashed_client_id) WHERE (trashed_client_id IS NOT NULL);

CREATE INDEX userlink_of_trashed_contact ON public.crm_userlink USING btree (account_id, trashed_contact_id) WHERE (trashed_contact_id IS NOT NULL);

CREATE INDEX version_of_comment ON public.forum_commentversion USING btree (account_id, comment_id, created_at, id);

CREATE INDEX vote_from_post ON public.forum_vote USING btree (account_id, from_post_id) WHERE (from_post_id IS NOT NULL);

CREATE INDEX vote_of_user ON public.forum_vote USING btree (account_id, user_id, created_at, post_id);

CREATE INDEX word_spelling ON public.core_word USING gin (account_id, kind public.text_ops, word public.gin_trgm_ops);

CREATE TRIGGER accounts_fielddefinition_update_search BEFORE INSERT OR DELETE OR UPDATE OF label, key, search_text ON public.accounts_fielddefinition FOR EACH ROW EXECUTE FUNCTION public.accounts_fielddefinition_update_search();

CREATE TRIGGER accounts_group_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, search_text ON public.accounts_group FOR EACH ROW EXECUTE FUNCTION public.accounts_group_update_search();

CREATE TRIGGER accounts_pipeline_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, search_text ON public.accounts_pipeline FOR EACH ROW EXECUTE FUNCTION public.accounts_pipeline_update_search();

CREATE TRIGGER accounts_status_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, code, search_text ON public.accounts_status FOR EACH ROW EXECUTE FUNCTION public.accounts_status_update_search();

CREATE TRIGGER accounts_user_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, login, email, description, search_text ON public.accounts_user FOR EACH ROW EXECUTE FUNCTION public.accounts_user_update_search();

CREATE TRIGGER add_words AFTER INSERT ON public.accounts_fielddefinition REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();

CREATE TRIGGER add_words AFTER INSERT ON public.accounts_group REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();

CREATE TRIGGER add_words AFTER INSERT ON public.accounts_pipeline REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();

CREATE TRIGGER add_words AFTER INSERT ON public.accounts_status REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();

CREATE TRIGGER add_words AFTER INSERT ON public.accounts_user REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();

CREATE TRIGGER add_words AFTER INSERT ON public.crm_client REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();

CREATE TRIGGER add_words AFTER INSERT ON public.crm_contact REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();

CREATE TRIGGER add_words AFTER INSERT ON public.crm_contactlist REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();

CREATE TRIGGER add_words AFTER INSERT ON public.crm_deal REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();

CREATE TRIGGER add_words AFTER INSERT ON public.crm_note REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();

CREATE TRIGGER add_words AFTER INSERT ON public.forum_post REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION search.add_words();

CREATE TRIGGER copy_live_row AFTER INSERT OR DELETE OR UPDATE ON public.crm_client FOR EACH ROW EXECUTE FUNCTION public.core_copy_live_row('crm_clientlastchange', 'updated_at');

CREATE TRIGGER copy_live_row AFTER INSERT OR DELETE OR UPDATE ON public.crm_contact FOR EACH ROW EXECUTE FUNCTION public.core_copy_live_row('crm_contactlastchange', 'updated_at');

CREATE TRIGGER copy_live_row AFTER INSERT OR DELETE OR UPDATE ON public.crm_deal FOR EACH ROW EXECUTE FUNCTION public.core_copy_live_row('crm_deallastchange', 'updated_at');

CREATE TRIGGER copy_live_row AFTER INSERT OR DELETE OR UPDATE ON public.forum_post FOR EACH ROW EXECUTE FUNCTION public.core_copy_live_row('forum_postsortkey', 'forum_id', 'category_id', 'status_id', 'visibility', 'client_id', 'contact_id', 'deal_id', 'votes_cache', 'comments_cache', 'trending', 'updated_at');

CREATE TRIGGER count_cast AFTER INSERT ON public.forum_proxyvote REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();

CREATE TRIGGER count_cast AFTER INSERT ON public.forum_vote REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();

CREATE TRIGGER count_created AFTER INSERT ON public.forum_notification REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_notifications();

CREATE TRIGGER count_deleted AFTER DELETE ON public.forum_notification REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_notifications();

CREATE TRIGGER count_read AFTER UPDATE ON public.forum_notification REFERENCING OLD TABLE AS former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_notifications();

CREATE TRIGGER count_withdrawn AFTER DELETE ON public.forum_proxyvote REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();

CREATE TRIGGER count_withdrawn AFTER DELETE ON public.forum_vote REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();

CREATE TRIGGER crm_client_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, email, first_name, last_name, shortcut, www, city, tax_no, register_number, phone, mobile_phone, fax, street, street_no, post_code, external_ids, note, description, trashed_at, search_text ON public.crm_client FOR EACH ROW EXECUTE FUNCTION public.crm_client_update_search();

CREATE TRIGGER crm_contact_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, email, first_name, last_name, "position", phone, mobile_phone, external_ids, note, description, trashed_at, search_text ON public.crm_contact FOR EACH ROW EXECUTE FUNCTION public.crm_contact_update_search();

CREATE TRIGGER crm_contactlist_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, trashed_at, search_text ON public.crm_contactlist FOR EACH ROW EXECUTE FUNCTION public.crm_contactlist_update_search();

CREATE TRIGGER crm_deal_update_search BEFORE INSERT OR DELETE OR UPDATE OF name, external_ids, description, trashed_at, search_text ON public.crm_deal FOR EACH ROW EXECUTE FUNCTION public.crm_deal_update_search();

CREATE TRIGGER crm_dealcount_count AFTER INSERT OR DELETE OR UPDATE ON public.crm_deal FOR EACH ROW EXECUTE FUNCTION public.crm_dealcount_insert_deltas();

CREATE TRIGGER crm_note_update_search BEFORE INSERT OR DELETE OR UPDATE OF excerpt, content, trashed_at, search_text ON public.crm_note FOR EACH ROW EXECUTE FUNCTION public.crm_note_update_search();

CREATE TRIGGER forum_facetcount_count AFTER INSERT OR DELETE OR UPDATE ON public.forum_post FOR EACH ROW EXECUTE FUNCTION public.forum_facetcount_insert_deltas();

CREATE TRIGGER forum_post_update_search BEFORE INSERT OR DELETE OR UPDATE OF title, content, response, trashed_at, search_text ON public.forum_post FOR EACH ROW EXECUTE FUNCTION public.forum_post_update_search();

CREATE TRIGGER keep_entries BEFORE TRUNCATE ON public.accounts_auditentry FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_keep_auditentry();

CREATE TRIGGER keep_entry BEFORE DELETE OR UPDATE ON public.accounts_auditentry FOR EACH ROW EXECUTE FUNCTION public.accounts_keep_auditentry();

CREATE CONSTRAINT TRIGGER place_event AFTER INSERT ON public.core_change DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.data IS NOT NULL)) EXECUTE FUNCTION public.core_place_event();

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.accounts_fielddefinition DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('field_definition');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.accounts_group DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('group');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.accounts_pipeline DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('pipeline');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.accounts_status DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('status');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.crm_client DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('client', 'trashable');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.crm_contact DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('contact', 'trashable');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.crm_contactlist DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('contact_list', 'trashable');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.crm_deal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('deal', 'trashable');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.crm_note DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('note', 'trashable');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.crm_userlink DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('user_link');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.forum_answer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('answer');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.forum_post DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('post', 'trashable');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.forum_savedreply DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('saved_reply');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.team_goal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('goal');

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR DELETE OR UPDATE ON public.team_message DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('message', '', 'post_id', 'author_id', 'subject', 'text', 'among', 'include_not_asked', 'state');

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_apitoken FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_attachment FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_auditentry FOR EACH ROW EXECUTE FUNCTION public.accounts_begin_auditentry();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_fielddefinition FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_group FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_handover FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_identity FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_invitation FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_pipeline FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_secondfactor FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_session FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_signincode FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_status FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_storeddraft FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_tag FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.accounts_user FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.core_storedfile FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.crm_client FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.crm_contact FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.crm_contactlist FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.crm_deal FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.crm_note FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.crm_userlink FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_activity FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take('public.forum_activity_ids');

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_answer FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_category FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_comment FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_commentversion FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_contentreport FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_follow FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_forum FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_forumaddress FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_forummember FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_notification FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_post FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_proxyvote FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_savedreply FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.forum_statuschange FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.team_bulkchange FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.team_calendarfeed FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.team_export FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.team_goal FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.team_import FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.team_merge FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.team_message FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.team_movein FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.team_savedview FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.webhooks_delivery FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER take_id BEFORE INSERT ON public.webhooks_endpoint FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();

CREATE TRIGGER weigh_changed AFTER UPDATE ON public.forum_proxyvote REFERENCING OLD TABLE AS former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();

CREATE TRIGGER weigh_changed AFTER UPDATE ON public.forum_vote REFERENCING OLD TABLE AS former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.forum_count_votes();

ALTER TABLE ONLY account_ids.counter
    ADD CONSTRAINT counter_account_id_fk FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.accounts_apitoken
    ADD CONSTRAINT accounts_apitoken_account_id_c5e627d6_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_apitoken
    ADD CONSTRAINT accounts_apitoken_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.accounts_attachment
    ADD CONSTRAINT accounts_attachment_account_id_10a7b5c0_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_attachment
    ADD CONSTRAINT accounts_attachment_file_id_fk FOREIGN KEY (account_id, file_id) REFERENCES public.core_storedfile(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.accounts_attachment
    ADD CONSTRAINT accounts_attachment_thumbnail_id_fk FOREIGN KEY (account_id, thumbnail_id) REFERENCES public.core_storedfile(account_id, id) ON DELETE SET NULL (thumbnail_id);

ALTER TABLE ONLY public.accounts_attachment
    ADD CONSTRAINT accounts_attachment_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.accounts_auditentry
    ADD CONSTRAINT accounts_auditentry_account_id_fk FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.accounts_branding
    ADD CONSTRAINT accounts_branding_account_id_6b0ff6f8_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_fielddefinition
    ADD CONSTRAINT accounts_fielddefinition_account_id_8b7feae7_fk_accounts_accoun FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_group
    ADD CONSTRAINT accounts_group_account_id_2d29721b_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_handover
    ADD CONSTRAINT accounts_handover_account_id_c438710a_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_handover
    ADD CONSTRAINT accounts_handover_session_id_fk FOREIGN KEY (account_id, session_id) REFERENCES public.accounts_session(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.accounts_host
    ADD CONSTRAINT accounts_host_account_id_511f161c_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_identity
    ADD CONSTRAINT accounts_identity_account_id_1d48af57_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_identity
    ADD CONSTRAINT accounts_identity_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.accounts_invitation
    ADD CONSTRAINT accounts_invitation_account_id_8e9dd036_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_invitation
    ADD CONSTRAINT accounts_invitation_invited_by_id_fk FOREIGN KEY (account_id, invited_by_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.accounts_oidcprovider
    ADD CONSTRAINT accounts_oidcprovide_account_id_2d3299ba_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_pipeline
    ADD CONSTRAINT accounts_pipeline_account_id_f5bf396e_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_secondfactor
    ADD CONSTRAINT accounts_secondfacto_account_id_f322ed99_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_secondfactor
    ADD CONSTRAINT accounts_secondfactor_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.accounts_session
    ADD CONSTRAINT accounts_session_account_id_13077c3e_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_session
    ADD CONSTRAINT accounts_session_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.accounts_shopsignin
    ADD CONSTRAINT accounts_shopsignin_account_id_d1f98e74_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_signincode
    ADD CONSTRAINT accounts_signincode_account_id_a8c4907f_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_status
    ADD CONSTRAINT accounts_status_account_id_ef825096_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_status
    ADD CONSTRAINT accounts_status_pipeline_id_fk FOREIGN KEY (account_id, pipeline_id) REFERENCES public.accounts_pipeline(account_id, id);

ALTER TABLE ONLY public.accounts_storeddraft
    ADD CONSTRAINT accounts_storeddraft_account_id_fc40ebe4_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_tag
    ADD CONSTRAINT accounts_tag_account_id_c89e2765_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_tagcount
    ADD CONSTRAINT accounts_tagcount_account_id_23978231_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_tagcount
    ADD CONSTRAINT accounts_tagcount_tag_id_fk FOREIGN KEY (account_id, tag_id) REFERENCES public.accounts_tag(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_account_id_a9fb5a91_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_group_id_fk FOREIGN KEY (account_id, group_id) REFERENCES public.accounts_group(account_id, id) ON DELETE SET NULL (group_id);

ALTER TABLE ONLY public.core_change
    ADD CONSTRAINT core_change_account_id_dee1d71b_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.core_follower
    ADD CONSTRAINT core_follower_account_id_ddd92d9e_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.core_idempotentanswer
    ADD CONSTRAINT core_idempotentanswe_account_id_3c6ccfab_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.core_storedfile
    ADD CONSTRAINT core_storedfile_account_id_e1c45385_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.core_word
    ADD CONSTRAINT core_word_account_id_cfe27651_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_client
    ADD CONSTRAINT crm_client_account_id_640c44a6_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_client
    ADD CONSTRAINT crm_client_consent_by_id_fk FOREIGN KEY (account_id, consent_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_client
    ADD CONSTRAINT crm_client_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (contact_id);

ALTER TABLE ONLY public.crm_client
    ADD CONSTRAINT crm_client_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_client
    ADD CONSTRAINT crm_client_do_not_contact_by_id_fk FOREIGN KEY (account_id, do_not_contact_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_client
    ADD CONSTRAINT crm_client_responsible_id_fk FOREIGN KEY (account_id, responsible_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_client
    ADD CONSTRAINT crm_client_status_id_fk FOREIGN KEY (account_id, status_id) REFERENCES public.accounts_status(account_id, id);

ALTER TABLE ONLY public.crm_client
    ADD CONSTRAINT crm_client_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_client
    ADD CONSTRAINT crm_client_trashed_contact_id_fk FOREIGN KEY (account_id, trashed_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (trashed_contact_id);

ALTER TABLE ONLY public.crm_client
    ADD CONSTRAINT crm_client_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_clientexternalid
    ADD CONSTRAINT crm_clientexternalid_account_id_bc77b72f_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_clientexternalid
    ADD CONSTRAINT crm_clientexternalid_holder_id_fk FOREIGN KEY (account_id, holder_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_contact
    ADD CONSTRAINT crm_contact_account_id_1eac6a03_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_contact
    ADD CONSTRAINT crm_contact_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (client_id);

ALTER TABLE ONLY public.crm_contact
    ADD CONSTRAINT crm_contact_consent_by_id_fk FOREIGN KEY (account_id, consent_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_contact
    ADD CONSTRAINT crm_contact_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_contact
    ADD CONSTRAINT crm_contact_do_not_contact_by_id_fk FOREIGN KEY (account_id, do_not_contact_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_contact
    ADD CONSTRAINT crm_contact_responsible_id_fk FOREIGN KEY (account_id, responsible_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_contact
    ADD CONSTRAINT crm_contact_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_contact
    ADD CONSTRAINT crm_contact_trashed_client_id_fk FOREIGN KEY (account_id, trashed_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (trashed_client_id);

ALTER TABLE ONLY public.crm_contact
    ADD CONSTRAINT crm_contact_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_contactexternalid
    ADD CONSTRAINT crm_contactexternali_account_id_d3a6b8a9_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_contactexternalid
    ADD CONSTRAINT crm_contactexternalid_holder_id_fk FOREIGN KEY (account_id, holder_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_contactlist
    ADD CONSTRAINT crm_contactlist_account_id_84132434_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_contactlist
    ADD CONSTRAINT crm_contactlist_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_contactlist
    ADD CONSTRAINT crm_contactlist_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_contactlist
    ADD CONSTRAINT crm_contactlist_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_contactlistcount
    ADD CONSTRAINT crm_contactlistcount_account_id_91a81cfa_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_contactlistcount
    ADD CONSTRAINT crm_contactlistcount_contact_list_id_fk FOREIGN KEY (account_id, contact_list_id) REFERENCES public.crm_contactlist(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_contactlistmembership
    ADD CONSTRAINT crm_contactlistmembe_account_id_ec1b847c_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_contactlistmembership
    ADD CONSTRAINT crm_contactlistmembership_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_contactlistmembership
    ADD CONSTRAINT crm_contactlistmembership_contact_list_id_fk FOREIGN KEY (account_id, contact_list_id) REFERENCES public.crm_contactlist(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_deal
    ADD CONSTRAINT crm_deal_account_id_5d3c247b_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_deal
    ADD CONSTRAINT crm_deal_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (client_id);

ALTER TABLE ONLY public.crm_deal
    ADD CONSTRAINT crm_deal_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (contact_id);

ALTER TABLE ONLY public.crm_deal
    ADD CONSTRAINT crm_deal_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_deal
    ADD CONSTRAINT crm_deal_responsible_id_fk FOREIGN KEY (account_id, responsible_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_deal
    ADD CONSTRAINT crm_deal_status_id_fk FOREIGN KEY (account_id, status_id) REFERENCES public.accounts_status(account_id, id);

ALTER TABLE ONLY public.crm_deal
    ADD CONSTRAINT crm_deal_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_deal
    ADD CONSTRAINT crm_deal_trashed_client_id_fk FOREIGN KEY (account_id, trashed_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (trashed_client_id);

ALTER TABLE ONLY public.crm_deal
    ADD CONSTRAINT crm_deal_trashed_contact_id_fk FOREIGN KEY (account_id, trashed_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (trashed_contact_id);

ALTER TABLE ONLY public.crm_deal
    ADD CONSTRAINT crm_deal_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_dealexternalid
    ADD CONSTRAINT crm_dealexternalid_account_id_f7945fc9_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_dealexternalid
    ADD CONSTRAINT crm_dealexternalid_holder_id_fk FOREIGN KEY (account_id, holder_id) REFERENCES public.crm_deal(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_dealstage
    ADD CONSTRAINT crm_dealstage_deal_id_fk FOREIGN KEY (account_id, deal_id) REFERENCES public.crm_deal(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_note
    ADD CONSTRAINT crm_note_account_id_f32c6875_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_note
    ADD CONSTRAINT crm_note_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_note
    ADD CONSTRAINT crm_note_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_note
    ADD CONSTRAINT crm_note_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_note
    ADD CONSTRAINT crm_note_deal_id_fk FOREIGN KEY (account_id, deal_id) REFERENCES public.crm_deal(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_note
    ADD CONSTRAINT crm_note_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_note
    ADD CONSTRAINT crm_note_trashed_client_id_fk FOREIGN KEY (account_id, trashed_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_note
    ADD CONSTRAINT crm_note_trashed_contact_id_fk FOREIGN KEY (account_id, trashed_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_note
    ADD CONSTRAINT crm_note_trashed_deal_id_fk FOREIGN KEY (account_id, trashed_deal_id) REFERENCES public.crm_deal(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_note
    ADD CONSTRAINT crm_note_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_userlink
    ADD CONSTRAINT crm_userlink_account_id_13effccb_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.crm_userlink
    ADD CONSTRAINT crm_userlink_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_userlink
    ADD CONSTRAINT crm_userlink_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_userlink
    ADD CONSTRAINT crm_userlink_creator_id_fk FOREIGN KEY (account_id, creator_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_userlink
    ADD CONSTRAINT crm_userlink_trashed_client_id_fk FOREIGN KEY (account_id, trashed_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_userlink
    ADD CONSTRAINT crm_userlink_trashed_contact_id_fk FOREIGN KEY (account_id, trashed_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.crm_userlink
    ADD CONSTRAINT crm_userlink_updater_id_fk FOREIGN KEY (account_id, updater_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.crm_userlink
    ADD CONSTRAINT crm_userlink_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_activity
    ADD CONSTRAINT forum_activity_account_id_8fe1685e_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_activity
    ADD CONSTRAINT forum_activity_comment_id_fk FOREIGN KEY (account_id, comment_id) REFERENCES public.forum_comment(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_activity
    ADD CONSTRAINT forum_activity_note_id_fk FOREIGN KEY (account_id, note_id) REFERENCES public.crm_note(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_activity
    ADD CONSTRAINT forum_activity_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_activity
    ADD CONSTRAINT forum_activity_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_answer
    ADD CONSTRAINT forum_answer_account_id_e73bf1db_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_answer
    ADD CONSTRAINT forum_answer_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_answer
    ADD CONSTRAINT forum_answer_status_id_fk FOREIGN KEY (account_id, status_id) REFERENCES public.accounts_status(account_id, id) ON DELETE SET NULL (status_id);

ALTER TABLE ONLY public.forum_answer
    ADD CONSTRAINT forum_answer_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_category
    ADD CONSTRAINT forum_category_account_id_6f89b6cb_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_category
    ADD CONSTRAINT forum_category_forum_id_fk FOREIGN KEY (account_id, forum_id) REFERENCES public.forum_forum(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_comment
    ADD CONSTRAINT forum_comment_account_id_9724926b_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_comment
    ADD CONSTRAINT forum_comment_from_post_id_fk FOREIGN KEY (account_id, from_post_id) REFERENCES public.forum_post(account_id, id) ON DELETE SET NULL (from_post_id);

ALTER TABLE ONLY public.forum_comment
    ADD CONSTRAINT forum_comment_parent_id_fk FOREIGN KEY (account_id, parent_id) REFERENCES public.forum_comment(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_comment
    ADD CONSTRAINT forum_comment_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_comment
    ADD CONSTRAINT forum_comment_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_commentreaction
    ADD CONSTRAINT forum_commentreactio_account_id_5aca1c0b_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_commentreaction
    ADD CONSTRAINT forum_commentreaction_comment_id_fk FOREIGN KEY (account_id, comment_id) REFERENCES public.forum_comment(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_commentreaction
    ADD CONSTRAINT forum_commentreaction_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_commentversion
    ADD CONSTRAINT forum_commentversion_account_id_9dcc9309_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_commentversion
    ADD CONSTRAINT forum_commentversion_comment_id_fk FOREIGN KEY (account_id, comment_id) REFERENCES public.forum_comment(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_commentversion
    ADD CONSTRAINT forum_commentversion_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_contentreport
    ADD CONSTRAINT forum_contentreport_account_id_428750b0_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_contentreport
    ADD CONSTRAINT forum_contentreport_comment_id_fk FOREIGN KEY (account_id, comment_id) REFERENCES public.forum_comment(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_contentreport
    ADD CONSTRAINT forum_contentreport_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_contentreport
    ADD CONSTRAINT forum_contentreport_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_follow
    ADD CONSTRAINT forum_follow_account_id_d860395f_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_follow
    ADD CONSTRAINT forum_follow_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_follow
    ADD CONSTRAINT forum_follow_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_forum
    ADD CONSTRAINT forum_forum_account_id_2573f318_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_forum
    ADD CONSTRAINT forum_forum_host_id_fk FOREIGN KEY (account_id, host_id) REFERENCES public.accounts_host(account_id, id);

ALTER TABLE ONLY public.forum_forum
    ADD CONSTRAINT forum_forum_segment_id_fk FOREIGN KEY (account_id, segment_id) REFERENCES public.team_savedview(account_id, id) ON DELETE SET NULL (segment_id);

ALTER TABLE ONLY public.forum_forumaddress
    ADD CONSTRAINT forum_forumaddress_account_id_35e9e72e_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_forumaddress
    ADD CONSTRAINT forum_forumaddress_forum_id_fk FOREIGN KEY (account_id, forum_id) REFERENCES public.forum_forum(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_forummember
    ADD CONSTRAINT forum_forummember_account_id_337a142d_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_forummember
    ADD CONSTRAINT forum_forummember_forum_id_fk FOREIGN KEY (account_id, forum_id) REFERENCES public.forum_forum(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_forummember
    ADD CONSTRAINT forum_forummember_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_notification
    ADD CONSTRAINT forum_notification_account_id_02be2fc7_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_notification
    ADD CONSTRAINT forum_notification_activity_id_fk FOREIGN KEY (account_id, activity_id) REFERENCES public.forum_activity(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_notification
    ADD CONSTRAINT forum_notification_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_account_id_252bfcac_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_category_id_fk FOREIGN KEY (account_id, category_id) REFERENCES public.forum_category(account_id, id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (client_id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (contact_id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_deal_id_fk FOREIGN KEY (account_id, deal_id) REFERENCES public.crm_deal(account_id, id) ON DELETE SET NULL (deal_id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_duplicate_from_id_fk FOREIGN KEY (account_id, duplicate_from_id) REFERENCES public.forum_post(account_id, id) ON DELETE SET NULL (duplicate_from_id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_forum_id_fk FOREIGN KEY (account_id, forum_id) REFERENCES public.forum_forum(account_id, id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_response_user_id_fk FOREIGN KEY (account_id, response_user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_responsible_id_fk FOREIGN KEY (account_id, responsible_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_status_before_merge_id_fk FOREIGN KEY (account_id, status_before_merge_id) REFERENCES public.accounts_status(account_id, id) ON DELETE SET NULL (status_before_merge_id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_status_id_fk FOREIGN KEY (account_id, status_id) REFERENCES public.accounts_status(account_id, id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_trashed_by_id_fk FOREIGN KEY (account_id, trashed_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_trashed_client_id_fk FOREIGN KEY (account_id, trashed_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE SET NULL (trashed_client_id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_trashed_contact_id_fk FOREIGN KEY (account_id, trashed_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE SET NULL (trashed_contact_id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_trashed_deal_id_fk FOREIGN KEY (account_id, trashed_deal_id) REFERENCES public.crm_deal(account_id, id) ON DELETE SET NULL (trashed_deal_id);

ALTER TABLE ONLY public.forum_post
    ADD CONSTRAINT forum_post_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_proxyvote
    ADD CONSTRAINT forum_proxyvote_account_id_dac205f5_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_proxyvote
    ADD CONSTRAINT forum_proxyvote_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_proxyvote
    ADD CONSTRAINT forum_proxyvote_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_proxyvote
    ADD CONSTRAINT forum_proxyvote_from_post_id_fk FOREIGN KEY (account_id, from_post_id) REFERENCES public.forum_post(account_id, id) ON DELETE SET NULL (from_post_id);

ALTER TABLE ONLY public.forum_proxyvote
    ADD CONSTRAINT forum_proxyvote_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_proxyvote
    ADD CONSTRAINT forum_proxyvote_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_savedreply
    ADD CONSTRAINT forum_savedreply_account_id_5c365544_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_statuschange
    ADD CONSTRAINT forum_statuschange_account_id_15a2fb87_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_statuschange
    ADD CONSTRAINT forum_statuschange_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_statuschange
    ADD CONSTRAINT forum_statuschange_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.forum_vote
    ADD CONSTRAINT forum_vote_account_id_9aa36c59_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.forum_vote
    ADD CONSTRAINT forum_vote_from_post_id_fk FOREIGN KEY (account_id, from_post_id) REFERENCES public.forum_post(account_id, id) ON DELETE SET NULL (from_post_id);

ALTER TABLE ONLY public.forum_vote
    ADD CONSTRAINT forum_vote_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.forum_vote
    ADD CONSTRAINT forum_vote_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.team_bulkchange
    ADD CONSTRAINT team_bulkchange_account_id_48f33971_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_bulkchange
    ADD CONSTRAINT team_bulkchange_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.team_bulkchange
    ADD CONSTRAINT team_bulkchange_undone_by_id_fk FOREIGN KEY (account_id, undone_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.team_bulkchangerow
    ADD CONSTRAINT team_bulkchangerow_account_id_c2dbbcd5_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_bulkchangerow
    ADD CONSTRAINT team_bulkchangerow_batch_id_fk FOREIGN KEY (account_id, batch_id) REFERENCES public.team_bulkchange(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_calendarfeed
    ADD CONSTRAINT team_calendarfeed_account_id_b7808b6d_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_calendarfeed
    ADD CONSTRAINT team_calendarfeed_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_clientkey
    ADD CONSTRAINT team_clientkey_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_contactkey
    ADD CONSTRAINT team_contactkey_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_export
    ADD CONSTRAINT team_export_account_id_ca474401_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_export
    ADD CONSTRAINT team_export_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.team_export
    ADD CONSTRAINT team_export_file_id_fk FOREIGN KEY (account_id, file_id) REFERENCES public.core_storedfile(account_id, id) ON DELETE SET NULL (file_id);

ALTER TABLE ONLY public.team_goal
    ADD CONSTRAINT team_goal_account_id_14ba2af9_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_goal
    ADD CONSTRAINT team_goal_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_import
    ADD CONSTRAINT team_import_account_id_571e8772_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_import
    ADD CONSTRAINT team_import_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.team_import
    ADD CONSTRAINT team_import_rows_id_fk FOREIGN KEY (account_id, rows_id) REFERENCES public.core_storedfile(account_id, id) ON DELETE SET NULL (rows_id);

ALTER TABLE ONLY public.team_import
    ADD CONSTRAINT team_import_source_id_fk FOREIGN KEY (account_id, source_id) REFERENCES public.core_storedfile(account_id, id) ON DELETE SET NULL (source_id);

ALTER TABLE ONLY public.team_import
    ADD CONSTRAINT team_import_undone_by_id_fk FOREIGN KEY (account_id, undone_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.team_importfault
    ADD CONSTRAINT team_importfault_account_id_6a3260f0_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_importfault
    ADD CONSTRAINT team_importfault_import_id_fk FOREIGN KEY (account_id, import_id) REFERENCES public.team_import(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_importkey
    ADD CONSTRAINT team_importkey_account_id_5d0a6060_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_importkey
    ADD CONSTRAINT team_importkey_import_id_fk FOREIGN KEY (account_id, import_id) REFERENCES public.team_import(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_importrow
    ADD CONSTRAINT team_importrow_account_id_01132c0b_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_importrow
    ADD CONSTRAINT team_importrow_batch_id_fk FOREIGN KEY (account_id, batch_id) REFERENCES public.team_import(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_merge
    ADD CONSTRAINT team_merge_account_id_0dde60f0_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_merge
    ADD CONSTRAINT team_merge_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_merge
    ADD CONSTRAINT team_merge_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_merge
    ADD CONSTRAINT team_merge_merged_client_id_fk FOREIGN KEY (account_id, merged_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_merge
    ADD CONSTRAINT team_merge_merged_contact_id_fk FOREIGN KEY (account_id, merged_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_merge
    ADD CONSTRAINT team_merge_undone_by_id_fk FOREIGN KEY (account_id, undone_by_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.team_merge
    ADD CONSTRAINT team_merge_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.team_mergedrow
    ADD CONSTRAINT team_mergedrow_account_id_12eb0fe4_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_mergedrow
    ADD CONSTRAINT team_mergedrow_merge_id_fk FOREIGN KEY (account_id, merge_id) REFERENCES public.team_merge(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_message
    ADD CONSTRAINT team_message_account_id_a0f28421_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_message
    ADD CONSTRAINT team_message_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.team_message
    ADD CONSTRAINT team_message_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_messagerecipient
    ADD CONSTRAINT team_messagerecipien_account_id_e31d8018_fk_accounts_ FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_messagerecipient
    ADD CONSTRAINT team_messagerecipient_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_messagerecipient
    ADD CONSTRAINT team_messagerecipient_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_messagerecipient
    ADD CONSTRAINT team_messagerecipient_message_id_fk FOREIGN KEY (account_id, message_id) REFERENCES public.team_message(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_movedrow
    ADD CONSTRAINT team_movedrow_account_id_d768a470_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_movedrow
    ADD CONSTRAINT team_movedrow_move_in_id_fk FOREIGN KEY (account_id, move_in_id) REFERENCES public.team_movein(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_movein
    ADD CONSTRAINT team_movein_account_id_a7f17b45_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_movein
    ADD CONSTRAINT team_movein_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES public.accounts_user(account_id, id);

ALTER TABLE ONLY public.team_postbacker
    ADD CONSTRAINT team_postbacker_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_postbacker
    ADD CONSTRAINT team_postbacker_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_postrevenue
    ADD CONSTRAINT team_postrevenue_forum_id_fk FOREIGN KEY (account_id, forum_id) REFERENCES public.forum_forum(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_postrevenue
    ADD CONSTRAINT team_postrevenue_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.team_savedview
    ADD CONSTRAINT team_savedview_account_id_f0247bb8_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.team_savedview
    ADD CONSTRAINT team_savedview_owner_id_fk FOREIGN KEY (account_id, owner_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.webhooks_delivery
    ADD CONSTRAINT webhooks_delivery_account_id_d19ec1d2_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY public.webhooks_delivery
    ADD CONSTRAINT webhooks_delivery_endpoint_id_fk FOREIGN KEY (account_id, endpoint_id) REFERENCES public.webhooks_endpoint(account_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.webhooks_endpoint
    ADD CONSTRAINT webhooks_endpoint_account_id_1f50e9cc_fk_accounts_account_id FOREIGN KEY (account_id) REFERENCES public.accounts_account(id) DEFERRABLE INITIALLY DEFERRED;
