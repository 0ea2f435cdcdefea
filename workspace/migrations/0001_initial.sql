-- Functions

CREATE FUNCTION public.workspace_collect_links() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat('client/' || OLD.account_id || '/' || OLD.client_id || ' ', 'contact/' || OLD.account_id || '/' || OLD.contact_id || ' ', 'deal/' || OLD.account_id || '/' || OLD.deal_id || ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    IF TG_OP <> 'DELETE' THEN
        IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat('client/' || NEW.account_id || '/' || NEW.client_id || ' ', 'contact/' || NEW.account_id || '/' || NEW.contact_id || ' ', 'deal/' || NEW.account_id || '/' || NEW.deal_id || ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_collect_new_contact() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat('new/' || NEW.account_id || '/' || NEW.id || ' ', 'contact/' || NEW.account_id || '/' || NEW.id || ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_collect_new_deal() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat('new/' || NEW.account_id || '/' || NEW.id || ' ', 'deal/' || NEW.account_id || '/' || NEW.id || ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_collect_new_note() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat('new/' || NEW.account_id || '/' || NEW.id || ' ', 'client/' || NEW.account_id || '/' || NEW.client_id || ' ', 'contact/' || NEW.account_id || '/' || NEW.contact_id || ' ', 'deal/' || NEW.account_id || '/' || NEW.deal_id || ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_collect_new_post() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat('new/' || NEW.account_id || '/' || NEW.id || ' ', 'client/' || NEW.account_id || '/' || NEW.client_id || ' ', 'contact/' || NEW.account_id || '/' || NEW.contact_id || ' ', 'deal/' || NEW.account_id || '/' || NEW.deal_id || ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_collect_row() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat(TG_ARGV[0], '/', OLD.account_id, '/', OLD.id, ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    ELSE
        IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat(TG_ARGV[0], '/', NEW.account_id, '/', NEW.id, ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_current_clients(of_account bigint, ids bigint[]) RETURNS TABLE(client_id bigint, is_found boolean, last_activity_at timestamp with time zone, next_task_at timestamp with time zone, open_sum numeric, won_sum numeric)
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
            greatest(
                client.updated_at, (SELECT max(updated_at) FROM forum_postsortkey WHERE true AND account_id = of_account AND client_id = client.id), (SELECT max(updated_at) FROM crm_note WHERE trashed_at IS NULL AND account_id = of_account AND client_id = client.id),
                (SELECT max(last_activity_at) FROM workspace_contactsummary WHERE account_id = of_account AND client_id = client.id),
                (SELECT max(last_activity_at) FROM workspace_dealsummary WHERE account_id = of_account AND client_id = client.id)
            ) AS last_activity_at,
            least(
                (
        SELECT min(scheduled_at) FROM forum_post
        WHERE account_id = of_account AND client_id = client.id AND trashed_at IS NULL AND category_id IS NULL AND NOT closed
    ),
                (SELECT min(next_task_at) FROM workspace_contactsummary WHERE account_id = of_account AND client_id = client.id),
                (SELECT min(next_task_at) FROM workspace_dealsummary WHERE account_id = of_account AND client_id = client.id)
            ) AS next_task_at
        WHERE client.trashed_at IS NULL AND client.id IS NOT NULL
    ) AS live ON true
    LEFT JOIN LATERAL (
        SELECT * FROM workspace_clientrevenue WHERE account_id = of_account AND client_id = given.id
            AND currency = (SELECT account.currency FROM accounts_account AS account WHERE account.id = of_account)
        OFFSET 0
    ) AS revenue ON true
$$;

CREATE FUNCTION public.workspace_current_contacts(of_account bigint, ids bigint[]) RETURNS TABLE(contact_id bigint, is_found boolean, client_id bigint, last_activity_at timestamp with time zone, next_task_at timestamp with time zone)
    LANGUAGE sql STABLE
    AS $$
    SELECT given.id, contact.id IS NOT NULL, live.client_id, live.last_activity_at, live.next_task_at
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_contact WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS contact ON true
    LEFT JOIN LATERAL (
        SELECT contact.client_id,
            greatest(
                contact.updated_at, (SELECT max(updated_at) FROM forum_postsortkey WHERE true AND account_id = of_account AND contact_id = contact.id), (SELECT max(updated_at) FROM crm_note WHERE trashed_at IS NULL AND account_id = of_account AND contact_id = contact.id),
                (SELECT max(last_activity_at) FROM workspace_dealsummary WHERE account_id = of_account AND contact_id = contact.id)
            ) AS last_activity_at,
            least(
                (
        SELECT min(scheduled_at) FROM forum_post
        WHERE account_id = of_account AND contact_id = contact.id AND trashed_at IS NULL AND category_id IS NULL AND NOT closed
    ),
                (SELECT min(next_task_at) FROM workspace_dealsummary WHERE account_id = of_account AND contact_id = contact.id)
            ) AS next_task_at
        WHERE contact.trashed_at IS NULL AND contact.id IS NOT NULL
    ) AS live ON true
$$;

CREATE FUNCTION public.workspace_current_deals(of_account bigint, ids bigint[]) RETURNS TABLE(deal_id bigint, is_found boolean, client_id bigint, contact_id bigint, last_activity_at timestamp with time zone, next_task_at timestamp with time zone, outcome text, currency text, price numeric)
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
            greatest(deal.updated_at, (SELECT max(updated_at) FROM forum_postsortkey WHERE true AND account_id = of_account AND deal_id = deal.id), (SELECT max(updated_at) FROM crm_note WHERE trashed_at IS NULL AND account_id = of_account AND deal_id = deal.id)) AS last_activity_at,
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

CREATE FUNCTION public.workspace_erase_entries() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
BEGIN
    EXECUTE format(
        'DELETE FROM workspace_timelineentry WHERE account_id = $1 AND %1$I = $2
            AND (resource = $3 OR num_nonnulls(client_id, contact_id, deal_id) = 1)',
        TG_ARGV[0] || '_id'
    ) USING OLD.account_id, OLD.id, TG_ARGV[0];
    EXECUTE format(
        'UPDATE workspace_timelineentry SET %1$I = NULL WHERE account_id = $1 AND %1$I = $2', TG_ARGV[0] || '_id'
    ) USING OLD.account_id, OLD.id;
    RETURN NULL;
END $_$;

CREATE FUNCTION public.workspace_has_link(of_account bigint, of_user bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (SELECT FROM crm_userlink WHERE account_id = of_account AND user_id = of_user AND state = 'confirmed');
END $$;

CREATE FUNCTION public.workspace_insert_client_summary() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    
        INSERT INTO workspace_clientsummary (account_id, client_id, last_activity_at, open_sum, won_sum)
        VALUES (NEW.account_id, NEW.id, NEW.updated_at, 0, 0) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_insert_contact_summary() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    
        INSERT INTO workspace_contactsummary (account_id, contact_id, client_id, last_activity_at)
        VALUES (NEW.account_id, NEW.id, NEW.client_id, NEW.updated_at) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_insert_deal_summary() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    
        INSERT INTO workspace_dealsummary (account_id, deal_id, client_id, contact_id, last_activity_at, outcome, currency, price)
        VALUES (
            NEW.account_id, NEW.id, NEW.client_id, NEW.contact_id, NEW.updated_at,
            coalesce((
                SELECT outcome FROM accounts_status WHERE account_id = NEW.account_id AND id = NEW.status_id
            ), 'open'),
            NEW.currency, coalesce(NEW.price, 0)
        ) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_log_client() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    changes jsonb;
BEGIN
    IF (OLD.name, OLD.first_name, OLD.last_name, OLD.email, OLD.phone, OLD.mobile_phone, OLD.fax, OLD.www, CASE WHEN OLD.contact_id IS NULL AND coalesce(NEW.contact_id, NEW.trashed_contact_id) IS NULL THEN NULL ELSE coalesce(OLD.contact_id, OLD.trashed_contact_id) END, OLD.street, OLD.street_no, OLD.post_code, OLD.city, OLD.province, OLD.country, OLD.delivery_address, OLD.use_delivery_address, OLD.company, OLD.shortcut, OLD.kind, OLD.tax_no, OLD.register_number, OLD.bank, OLD.bank_account, OLD.discount, OLD.status_id, OLD.responsible_id, OLD.tags, OLD.note, OLD.description, OLD.url, OLD.origin, OLD.consent, OLD.do_not_contact, OLD.additional_fields) IS NOT DISTINCT FROM (NEW.name, NEW.first_name, NEW.last_name, NEW.email, NEW.phone, NEW.mobile_phone, NEW.fax, NEW.www, coalesce(NEW.contact_id, NEW.trashed_contact_id), NEW.street, NEW.street_no, NEW.post_code, NEW.city, NEW.province, NEW.country, NEW.delivery_address, NEW.use_delivery_address, NEW.company, NEW.shortcut, NEW.kind, NEW.tax_no, NEW.register_number, NEW.bank, NEW.bank_account, NEW.discount, NEW.status_id, NEW.responsible_id, NEW.tags, NEW.note, NEW.description, NEW.url, NEW.origin, NEW.consent, NEW.do_not_contact, NEW.additional_fields) THEN
        RETURN NULL;
    END IF;
    SELECT jsonb_agg(
        jsonb_build_object('field', field, 'before', CASE WHEN length(before::text) > 520 THEN to_jsonb(left(before #>> '{}', 500) || '…') ELSE before END, 'after', CASE WHEN length(after::text) > 520 THEN to_jsonb(left(after #>> '{}', 500) || '…') ELSE after END) ORDER BY place, field
    ) INTO changes
    FROM (
        SELECT place, field, nullif(before, '""') AS before, nullif(after, '""') AS after
        FROM (VALUES (0, 'name', to_jsonb(OLD.name), to_jsonb(NEW.name)), (1, 'first_name', to_jsonb(OLD.first_name), to_jsonb(NEW.first_name)), (2, 'last_name', to_jsonb(OLD.last_name), to_jsonb(NEW.last_name)), (3, 'email', to_jsonb(OLD.email), to_jsonb(NEW.email)), (4, 'phone', to_jsonb(OLD.phone), to_jsonb(NEW.phone)), (5, 'mobile_phone', to_jsonb(OLD.mobile_phone), to_jsonb(NEW.mobile_phone)), (6, 'fax', to_jsonb(OLD.fax), to_jsonb(NEW.fax)), (7, 'www', to_jsonb(OLD.www), to_jsonb(NEW.www)), (8, 'contact_id', to_jsonb(CASE WHEN OLD.contact_id IS NULL AND coalesce(NEW.contact_id, NEW.trashed_contact_id) IS NULL THEN NULL ELSE coalesce(OLD.contact_id, OLD.trashed_contact_id) END), to_jsonb(coalesce(NEW.contact_id, NEW.trashed_contact_id))), (9, 'street', to_jsonb(OLD.street), to_jsonb(NEW.street)), (10, 'street_no', to_jsonb(OLD.street_no), to_jsonb(NEW.street_no)), (11, 'post_code', to_jsonb(OLD.post_code), to_jsonb(NEW.post_code)), (12, 'city', to_jsonb(OLD.city), to_jsonb(NEW.city)), (13, 'province', to_jsonb(OLD.province), to_jsonb(NEW.province)), (14, 'country', to_jsonb(OLD.country), to_jsonb(NEW.country)), (15, 'delivery_address', to_jsonb(OLD.delivery_address), to_jsonb(NEW.delivery_address)), (16, 'use_delivery_address', to_jsonb(OLD.use_delivery_address), to_jsonb(NEW.use_delivery_address)), (17, 'company', to_jsonb(OLD.company), to_jsonb(NEW.company)), (18, 'shortcut', to_jsonb(OLD.shortcut), to_jsonb(NEW.shortcut)), (19, 'kind', to_jsonb(OLD.kind), to_jsonb(NEW.kind)), (20, 'tax_no', to_jsonb(OLD.tax_no), to_jsonb(NEW.tax_no)), (21, 'register_number', to_jsonb(OLD.register_number), to_jsonb(NEW.register_number)), (22, 'bank', to_jsonb(OLD.bank), to_jsonb(NEW.bank)), (23, 'bank_account', to_jsonb(OLD.bank_account), to_jsonb(NEW.bank_account)), (24, 'discount', to_jsonb(OLD.discount), to_jsonb(NEW.discount)), (25, 'status_id', to_jsonb(OLD.status_id), to_jsonb(NEW.status_id)), (26, 'responsible_id', to_jsonb(OLD.responsible_id), to_jsonb(NEW.responsible_id)), (27, 'tags', to_jsonb(OLD.tags), to_jsonb(NEW.tags)), (28, 'note', to_jsonb(OLD.note), to_jsonb(NEW.note)), (29, 'description', to_jsonb(OLD.description), to_jsonb(NEW.description)), (30, 'url', to_jsonb(OLD.url), to_jsonb(NEW.url)), (31, 'origin', to_jsonb(OLD.origin), to_jsonb(NEW.origin)), (32, 'consent', to_jsonb(OLD.consent), to_jsonb(NEW.consent)), (33, 'do_not_contact', to_jsonb(OLD.do_not_contact), to_jsonb(NEW.do_not_contact))) AS value (place, field, before, after)
        UNION ALL
        SELECT 34, 'additional_fields[' || key || ']', former.value, newer.value
        FROM jsonb_each(OLD.additional_fields) AS former FULL JOIN jsonb_each(NEW.additional_fields) AS newer USING (key)
        WHERE OLD.additional_fields IS DISTINCT FROM NEW.additional_fields
    ) AS field
    WHERE before IS DISTINCT FROM after;
    IF changes IS NOT NULL THEN
        INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data)
        VALUES (NEW.account_id, CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updated_at ELSE clock_timestamp() END, 'change', 'client', NEW.id, NEW.id, NULL, NULL, CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updater_id END,
            jsonb_build_object('changes', changes));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_log_contact() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    changes jsonb;
BEGIN
    IF (OLD.name, OLD.first_name, OLD.last_name, OLD.email, OLD.phone, OLD.mobile_phone, CASE WHEN OLD.client_id IS NULL AND coalesce(NEW.client_id, NEW.trashed_client_id) IS NULL THEN NULL ELSE coalesce(OLD.client_id, OLD.trashed_client_id) END, OLD.position, OLD.responsible_id, OLD.tags, OLD.note, OLD.description, OLD.consent, OLD.do_not_contact, OLD.additional_fields) IS NOT DISTINCT FROM (NEW.name, NEW.first_name, NEW.last_name, NEW.email, NEW.phone, NEW.mobile_phone, coalesce(NEW.client_id, NEW.trashed_client_id), NEW.position, NEW.responsible_id, NEW.tags, NEW.note, NEW.description, NEW.consent, NEW.do_not_contact, NEW.additional_fields) THEN
        RETURN NULL;
    END IF;
    SELECT jsonb_agg(
        jsonb_build_object('field', field, 'before', CASE WHEN length(before::text) > 520 THEN to_jsonb(left(before #>> '{}', 500) || '…') ELSE before END, 'after', CASE WHEN length(after::text) > 520 THEN to_jsonb(left(after #>> '{}', 500) || '…') ELSE after END) ORDER BY place, field
    ) INTO changes
    FROM (
        SELECT place, field, nullif(before, '""') AS before, nullif(after, '""') AS after
        FROM (VALUES (0, 'name', to_jsonb(OLD.name), to_jsonb(NEW.name)), (1, 'first_name', to_jsonb(OLD.first_name), to_jsonb(NEW.first_name)), (2, 'last_name', to_jsonb(OLD.last_name), to_jsonb(NEW.last_name)), (3, 'email', to_jsonb(OLD.email), to_jsonb(NEW.email)), (4, 'phone', to_jsonb(OLD.phone), to_jsonb(NEW.phone)), (5, 'mobile_phone', to_jsonb(OLD.mobile_phone), to_jsonb(NEW.mobile_phone)), (6, 'client_id', to_jsonb(CASE WHEN OLD.client_id IS NULL AND coalesce(NEW.client_id, NEW.trashed_client_id) IS NULL THEN NULL ELSE coalesce(OLD.client_id, OLD.trashed_client_id) END), to_jsonb(coalesce(NEW.client_id, NEW.trashed_client_id))), (7, 'position', to_jsonb(OLD.position), to_jsonb(NEW.position)), (8, 'responsible_id', to_jsonb(OLD.responsible_id), to_jsonb(NEW.responsible_id)), (9, 'tags', to_jsonb(OLD.tags), to_jsonb(NEW.tags)), (10, 'note', to_jsonb(OLD.note), to_jsonb(NEW.note)), (11, 'description', to_jsonb(OLD.description), to_jsonb(NEW.description)), (12, 'consent', to_jsonb(OLD.consent), to_jsonb(NEW.consent)), (13, 'do_not_contact', to_jsonb(OLD.do_not_contact), to_jsonb(NEW.do_not_contact))) AS value (place, field, before, after)
        UNION ALL
        SELECT 14, 'additional_fields[' || key || ']', former.value, newer.value
        FROM jsonb_each(OLD.additional_fields) AS former FULL JOIN jsonb_each(NEW.additional_fields) AS newer USING (key)
        WHERE OLD.additional_fields IS DISTINCT FROM NEW.additional_fields
    ) AS field
    WHERE before IS DISTINCT FROM after;
    IF changes IS NOT NULL THEN
        INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data)
        VALUES (NEW.account_id, CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updated_at ELSE clock_timestamp() END, 'change', 'contact', NEW.id, coalesce(NEW.client_id, NEW.trashed_client_id), NEW.id, NULL, CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updater_id END,
            jsonb_build_object('changes', changes));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_log_deal() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    changes jsonb;
BEGIN
    IF (OLD.name, CASE WHEN OLD.client_id IS NULL AND coalesce(NEW.client_id, NEW.trashed_client_id) IS NULL THEN NULL ELSE coalesce(OLD.client_id, OLD.trashed_client_id) END, CASE WHEN OLD.contact_id IS NULL AND coalesce(NEW.contact_id, NEW.trashed_contact_id) IS NULL THEN NULL ELSE coalesce(OLD.contact_id, OLD.trashed_contact_id) END, OLD.price, OLD.currency, OLD.expected_close_date, OLD.responsible_id, OLD.won_reason, OLD.lost_reason, OLD.tags, OLD.description, OLD.url, OLD.origin, OLD.additional_fields) IS NOT DISTINCT FROM (NEW.name, coalesce(NEW.client_id, NEW.trashed_client_id), coalesce(NEW.contact_id, NEW.trashed_contact_id), NEW.price, NEW.currency, NEW.expected_close_date, NEW.responsible_id, NEW.won_reason, NEW.lost_reason, NEW.tags, NEW.description, NEW.url, NEW.origin, NEW.additional_fields) THEN
        RETURN NULL;
    END IF;
    SELECT jsonb_agg(
        jsonb_build_object('field', field, 'before', CASE WHEN length(before::text) > 520 THEN to_jsonb(left(before #>> '{}', 500) || '…') ELSE before END, 'after', CASE WHEN length(after::text) > 520 THEN to_jsonb(left(after #>> '{}', 500) || '…') ELSE after END) ORDER BY place, field
    ) INTO changes
    FROM (
        SELECT place, field, nullif(before, '""') AS before, nullif(after, '""') AS after
        FROM (VALUES (0, 'name', to_jsonb(OLD.name), to_jsonb(NEW.name)), (1, 'client_id', to_jsonb(CASE WHEN OLD.client_id IS NULL AND coalesce(NEW.client_id, NEW.trashed_client_id) IS NULL THEN NULL ELSE coalesce(OLD.client_id, OLD.trashed_client_id) END), to_jsonb(coalesce(NEW.client_id, NEW.trashed_client_id))), (2, 'contact_id', to_jsonb(CASE WHEN OLD.contact_id IS NULL AND coalesce(NEW.contact_id, NEW.trashed_contact_id) IS NULL THEN NULL ELSE coalesce(OLD.contact_id, OLD.trashed_contact_id) END), to_jsonb(coalesce(NEW.contact_id, NEW.trashed_contact_id))), (3, 'price', to_jsonb(OLD.price), to_jsonb(NEW.price)), (4, 'currency', to_jsonb(OLD.currency), to_jsonb(NEW.currency)), (5, 'expected_close_date', to_jsonb(OLD.expected_close_date), to_jsonb(NEW.expected_close_date)), (6, 'responsible_id', to_jsonb(OLD.responsible_id), to_jsonb(NEW.responsible_id)), (7, 'won_reason', to_jsonb(OLD.won_reason), to_jsonb(NEW.won_reason)), (8, 'lost_reason', to_jsonb(OLD.lost_reason), to_jsonb(NEW.lost_reason)), (9, 'tags', to_jsonb(OLD.tags), to_jsonb(NEW.tags)), (10, 'description', to_jsonb(OLD.description), to_jsonb(NEW.description)), (11, 'url', to_jsonb(OLD.url), to_jsonb(NEW.url)), (12, 'origin', to_jsonb(OLD.origin), to_jsonb(NEW.origin))) AS value (place, field, before, after)
        UNION ALL
        SELECT 13, 'additional_fields[' || key || ']', former.value, newer.value
        FROM jsonb_each(OLD.additional_fields) AS former FULL JOIN jsonb_each(NEW.additional_fields) AS newer USING (key)
        WHERE OLD.additional_fields IS DISTINCT FROM NEW.additional_fields
    ) AS field
    WHERE before IS DISTINCT FROM after;
    IF changes IS NOT NULL THEN
        INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data)
        VALUES (NEW.account_id, CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updated_at ELSE clock_timestamp() END, 'change', 'deal', NEW.id, coalesce(NEW.client_id, NEW.trashed_client_id), coalesce(NEW.contact_id, NEW.trashed_contact_id), NEW.id, CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updater_id END,
            jsonb_build_object('changes', changes));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_log_stage() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data)
    VALUES (NEW.account_id, coalesce(NEW.stage_entered_at, CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updated_at ELSE clock_timestamp() END), 'stage', 'deal', NEW.id,
        coalesce(NEW.client_id, NEW.trashed_client_id), coalesce(NEW.contact_id, NEW.trashed_contact_id), NEW.id, CASE WHEN NEW.updated_at IS DISTINCT FROM OLD.updated_at THEN NEW.updater_id END, jsonb_build_object(
            'before', (
        SELECT jsonb_build_object('id', id, 'code', code, 'name', name, 'color', color, 'outcome', outcome)
        FROM accounts_status WHERE account_id = OLD.account_id AND id = OLD.status_id
    ),
            'after', (
        SELECT jsonb_build_object('id', id, 'code', code, 'name', name, 'color', color, 'outcome', outcome)
        FROM accounts_status WHERE account_id = NEW.account_id AND id = NEW.status_id
    )
        ));
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_mirror_deal() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            BEGIN
                IF TG_OP = 'INSERT' THEN
                    INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data) SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, '{}' FROM (SELECT source.account_id, source.created_at AS at, 'deal' AS kind, 'deal' AS resource, source.id AS resource_id,
        coalesce(source.client_id, source.trashed_client_id) AS client_id, coalesce(source.contact_id, source.trashed_contact_id) AS contact_id,
        source.id AS deal_id, source.creator_id AS user_id FROM (SELECT NEW.*) AS source WHERE true) AS wanted;
                    RETURN NULL;
                END IF;
                IF TG_OP = 'DELETE' THEN
                    DELETE FROM workspace_timelineentry WHERE account_id = OLD.account_id AND resource = 'deal'
                        AND resource_id = OLD.id AND kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote');
                    RETURN NULL;
                END IF;
                DELETE FROM workspace_timelineentry AS entry WHERE account_id = OLD.account_id AND resource = 'deal'
                    AND resource_id = OLD.id AND kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote')
                    AND kind NOT IN (SELECT kind FROM (SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id FROM (SELECT source.account_id, source.created_at AS at, 'deal' AS kind, 'deal' AS resource, source.id AS resource_id,
        coalesce(source.client_id, source.trashed_client_id) AS client_id, coalesce(source.contact_id, source.trashed_contact_id) AS contact_id,
        source.id AS deal_id, source.creator_id AS user_id FROM crm_deal AS source WHERE true AND source.account_id = NEW.account_id AND source.id = NEW.id) AS entry) AS wanted);
                
            INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data) SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, '{}' FROM (SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id FROM (SELECT source.account_id, source.created_at AS at, 'deal' AS kind, 'deal' AS resource, source.id AS resource_id,
        coalesce(source.client_id, source.trashed_client_id) AS client_id, coalesce(source.contact_id, source.trashed_contact_id) AS contact_id,
        source.id AS deal_id, source.creator_id AS user_id FROM crm_deal AS source WHERE true AND source.account_id = NEW.account_id AND source.id = NEW.id) AS entry) AS wanted
            ON CONFLICT (account_id, resource, resource_id, kind) WHERE kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote')
            DO UPDATE SET at = excluded.at, user_id = excluded.user_id, client_id = excluded.client_id,
                contact_id = excluded.contact_id, deal_id = excluded.deal_id;
        
                RETURN NULL;
            END $$;

CREATE FUNCTION public.workspace_mirror_note() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            BEGIN
                IF TG_OP = 'INSERT' THEN
                    INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data) SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, '{}' FROM (SELECT source.account_id, source.noted_at AS at, source.kind, 'note' AS resource, source.id AS resource_id,
        source.creator_id AS user_id, 
coalesce(
    source.client_id, source.trashed_client_id, deal.client_id, deal.trashed_client_id,
    contact.client_id, contact.trashed_client_id
) AS client_id,
coalesce(source.contact_id, source.trashed_contact_id, deal.contact_id, deal.trashed_contact_id) AS contact_id,
coalesce(source.deal_id, source.trashed_deal_id) AS deal_id
 FROM (SELECT NEW.*) AS source 
LEFT JOIN crm_contact AS contact
    ON contact.account_id = source.account_id AND contact.id = coalesce(source.contact_id, source.trashed_contact_id)
LEFT JOIN crm_deal AS deal
    ON deal.account_id = source.account_id AND deal.id = coalesce(source.deal_id, source.trashed_deal_id)
 WHERE source.trashed_at IS NULL) AS wanted;
                    RETURN NULL;
                END IF;
                IF TG_OP = 'DELETE' THEN
                    DELETE FROM workspace_timelineentry WHERE account_id = OLD.account_id AND resource = 'note'
                        AND resource_id = OLD.id AND kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote');
                    RETURN NULL;
                END IF;
                DELETE FROM workspace_timelineentry AS entry WHERE account_id = OLD.account_id AND resource = 'note'
                    AND resource_id = OLD.id AND kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote')
                    AND kind NOT IN (SELECT kind FROM (SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id FROM (SELECT source.account_id, source.noted_at AS at, source.kind, 'note' AS resource, source.id AS resource_id,
        source.creator_id AS user_id, 
coalesce(
    source.client_id, source.trashed_client_id, deal.client_id, deal.trashed_client_id,
    contact.client_id, contact.trashed_client_id
) AS client_id,
coalesce(source.contact_id, source.trashed_contact_id, deal.contact_id, deal.trashed_contact_id) AS contact_id,
coalesce(source.deal_id, source.trashed_deal_id) AS deal_id
 FROM crm_note AS source 
LEFT JOIN crm_contact AS contact
    ON contact.account_id = source.account_id AND contact.id = coalesce(source.contact_id, source.trashed_contact_id)
LEFT JOIN crm_deal AS deal
    ON deal.account_id = source.account_id AND deal.id = coalesce(source.deal_id, source.trashed_deal_id)
 WHERE source.trashed_at IS NULL AND source.account_id = NEW.account_id AND source.id = NEW.id) AS entry) AS wanted);
                
            INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data) SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, '{}' FROM (SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id FROM (SELECT source.account_id, source.noted_at AS at, source.kind, 'note' AS resource, source.id AS resource_id,
        source.creator_id AS user_id, 
coalesce(
    source.client_id, source.trashed_client_id, deal.client_id, deal.trashed_client_id,
    contact.client_id, contact.trashed_client_id
) AS client_id,
coalesce(source.contact_id, source.trashed_contact_id, deal.contact_id, deal.trashed_contact_id) AS contact_id,
coalesce(source.deal_id, source.trashed_deal_id) AS deal_id
 FROM crm_note AS source 
LEFT JOIN crm_contact AS contact
    ON contact.account_id = source.account_id AND contact.id = coalesce(source.contact_id, source.trashed_contact_id)
LEFT JOIN crm_deal AS deal
    ON deal.account_id = source.account_id AND deal.id = coalesce(source.deal_id, source.trashed_deal_id)
 WHERE source.trashed_at IS NULL AND source.account_id = NEW.account_id AND source.id = NEW.id) AS entry) AS wanted
            ON CONFLICT (account_id, resource, resource_id, kind) WHERE kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote')
            DO UPDATE SET at = excluded.at, user_id = excluded.user_id, client_id = excluded.client_id,
                contact_id = excluded.contact_id, deal_id = excluded.deal_id;
        
                RETURN NULL;
            END $$;

CREATE FUNCTION public.workspace_mirror_post() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            BEGIN
                IF TG_OP = 'INSERT' THEN
                    INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data) SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, '{}' FROM (SELECT source.account_id, event.at, event.kind, 'post' AS resource, source.id AS resource_id, event.user_id,
        
coalesce(
    source.client_id, source.trashed_client_id, deal.client_id, deal.trashed_client_id,
    contact.client_id, contact.trashed_client_id
) AS client_id,
coalesce(source.contact_id, source.trashed_contact_id, deal.contact_id, deal.trashed_contact_id) AS contact_id,
coalesce(source.deal_id, source.trashed_deal_id) AS deal_id
 FROM (SELECT NEW.*) AS source 
LEFT JOIN crm_contact AS contact
    ON contact.account_id = source.account_id AND contact.id = coalesce(source.contact_id, source.trashed_contact_id)
LEFT JOIN crm_deal AS deal
    ON deal.account_id = source.account_id AND deal.id = coalesce(source.deal_id, source.trashed_deal_id)

        CROSS JOIN LATERAL (VALUES
            (source.created_at, CASE WHEN source.category_id IS NULL THEN 'task' ELSE 'suggestion' END, source.user_id),
            (CASE WHEN source.category_id IS NULL THEN source.completed_at END, 'task_done', NULL)
        ) AS event (at, kind, user_id) WHERE source.trashed_at IS NULL AND event.at IS NOT NULL AND num_nonnulls(source.client_id, source.trashed_client_id, source.contact_id, source.trashed_contact_id, source.deal_id, source.trashed_deal_id) > 0) AS wanted;
                    RETURN NULL;
                END IF;
                IF TG_OP = 'DELETE' THEN
                    DELETE FROM workspace_timelineentry WHERE account_id = OLD.account_id AND resource = 'post'
                        AND resource_id = OLD.id AND kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote');
                    RETURN NULL;
                END IF;
                DELETE FROM workspace_timelineentry AS entry WHERE account_id = OLD.account_id AND resource = 'post'
                    AND resource_id = OLD.id AND kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote')
                    AND kind NOT IN (SELECT kind FROM (SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id FROM (SELECT source.account_id, event.at, event.kind, 'post' AS resource, source.id AS resource_id, event.user_id,
        
coalesce(
    source.client_id, source.trashed_client_id, deal.client_id, deal.trashed_client_id,
    contact.client_id, contact.trashed_client_id
) AS client_id,
coalesce(source.contact_id, source.trashed_contact_id, deal.contact_id, deal.trashed_contact_id) AS contact_id,
coalesce(source.deal_id, source.trashed_deal_id) AS deal_id
 FROM forum_post AS source 
LEFT JOIN crm_contact AS contact
    ON contact.account_id = source.account_id AND contact.id = coalesce(source.contact_id, source.trashed_contact_id)
LEFT JOIN crm_deal AS deal
    ON deal.account_id = source.account_id AND deal.id = coalesce(source.deal_id, source.trashed_deal_id)

        CROSS JOIN LATERAL (VALUES
            (source.created_at, CASE WHEN source.category_id IS NULL THEN 'task' ELSE 'suggestion' END, source.user_id),
            (CASE WHEN source.category_id IS NULL THEN source.completed_at END, 'task_done', NULL)
        ) AS event (at, kind, user_id) WHERE source.trashed_at IS NULL AND event.at IS NOT NULL AND num_nonnulls(source.client_id, source.trashed_client_id, source.contact_id, source.trashed_contact_id, source.deal_id, source.trashed_deal_id) > 0 AND source.account_id = NEW.account_id AND source.id = NEW.id) AS entry) AS wanted);
                
            INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data) SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, '{}' FROM (SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id FROM (SELECT source.account_id, event.at, event.kind, 'post' AS resource, source.id AS resource_id, event.user_id,
        
coalesce(
    source.client_id, source.trashed_client_id, deal.client_id, deal.trashed_client_id,
    contact.client_id, contact.trashed_client_id
) AS client_id,
coalesce(source.contact_id, source.trashed_contact_id, deal.contact_id, deal.trashed_contact_id) AS contact_id,
coalesce(source.deal_id, source.trashed_deal_id) AS deal_id
 FROM forum_post AS source 
LEFT JOIN crm_contact AS contact
    ON contact.account_id = source.account_id AND contact.id = coalesce(source.contact_id, source.trashed_contact_id)
LEFT JOIN crm_deal AS deal
    ON deal.account_id = source.account_id AND deal.id = coalesce(source.deal_id, source.trashed_deal_id)

        CROSS JOIN LATERAL (VALUES
            (source.created_at, CASE WHEN source.category_id IS NULL THEN 'task' ELSE 'suggestion' END, source.user_id),
            (CASE WHEN source.category_id IS NULL THEN source.completed_at END, 'task_done', NULL)
        ) AS event (at, kind, user_id) WHERE source.trashed_at IS NULL AND event.at IS NOT NULL AND num_nonnulls(source.client_id, source.trashed_client_id, source.contact_id, source.trashed_contact_id, source.deal_id, source.trashed_deal_id) > 0 AND source.account_id = NEW.account_id AND source.id = NEW.id) AS entry) AS wanted
            ON CONFLICT (account_id, resource, resource_id, kind) WHERE kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote')
            DO UPDATE SET at = excluded.at, user_id = excluded.user_id, client_id = excluded.client_id,
                contact_id = excluded.contact_id, deal_id = excluded.deal_id;
        
                RETURN NULL;
            END $$;

CREATE FUNCTION public.workspace_mirror_vote() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            BEGIN
                IF TG_OP = 'INSERT' THEN
                    INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data) SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, '{}' FROM (SELECT source.account_id, source.created_at AS at, 'vote' AS kind, 'vote' AS resource, source.id AS resource_id,
        coalesce(source.client_id, contact.client_id, contact.trashed_client_id) AS client_id, source.contact_id,
        NULL::bigint AS deal_id, source.user_id
        FROM (SELECT NEW.*) AS source
        LEFT JOIN crm_contact AS contact ON contact.account_id = source.account_id AND contact.id = source.contact_id WHERE source.from_post_id IS NULL) AS wanted;
                    RETURN NULL;
                END IF;
                IF TG_OP = 'DELETE' THEN
                    DELETE FROM workspace_timelineentry WHERE account_id = OLD.account_id AND resource = 'vote'
                        AND resource_id = OLD.id AND kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote');
                    RETURN NULL;
                END IF;
                DELETE FROM workspace_timelineentry AS entry WHERE account_id = OLD.account_id AND resource = 'vote'
                    AND resource_id = OLD.id AND kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote')
                    AND kind NOT IN (SELECT kind FROM (SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id FROM (SELECT source.account_id, source.created_at AS at, 'vote' AS kind, 'vote' AS resource, source.id AS resource_id,
        coalesce(source.client_id, contact.client_id, contact.trashed_client_id) AS client_id, source.contact_id,
        NULL::bigint AS deal_id, source.user_id
        FROM forum_proxyvote AS source
        LEFT JOIN crm_contact AS contact ON contact.account_id = source.account_id AND contact.id = source.contact_id WHERE source.from_post_id IS NULL AND source.account_id = NEW.account_id AND source.id = NEW.id) AS entry) AS wanted);
                
            INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data) SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, '{}' FROM (SELECT account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id FROM (SELECT source.account_id, source.created_at AS at, 'vote' AS kind, 'vote' AS resource, source.id AS resource_id,
        coalesce(source.client_id, contact.client_id, contact.trashed_client_id) AS client_id, source.contact_id,
        NULL::bigint AS deal_id, source.user_id
        FROM forum_proxyvote AS source
        LEFT JOIN crm_contact AS contact ON contact.account_id = source.account_id AND contact.id = source.contact_id WHERE source.from_post_id IS NULL AND source.account_id = NEW.account_id AND source.id = NEW.id) AS entry) AS wanted
            ON CONFLICT (account_id, resource, resource_id, kind) WHERE kind IN ('note', 'call', 'meeting', 'email', 'task', 'task_done', 'deal', 'suggestion', 'vote')
            DO UPDATE SET at = excluded.at, user_id = excluded.user_id, client_id = excluded.client_id,
                contact_id = excluded.contact_id, deal_id = excluded.deal_id;
        
                RETURN NULL;
            END $$;

CREATE FUNCTION public.workspace_move_entries_of_contact() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE workspace_timelineentry SET client_id = coalesce(NEW.client_id, NEW.trashed_client_id)
    WHERE account_id = NEW.account_id AND contact_id = NEW.id
        AND (resource IN ('contact', 'vote') OR (resource = 'note' AND deal_id IS NULL));
    UPDATE workspace_timelineentry AS entry SET client_id = wanted.client_id FROM (SELECT source.account_id, event.at, event.kind, 'post' AS resource, source.id AS resource_id, event.user_id,
        
coalesce(
    source.client_id, source.trashed_client_id, deal.client_id, deal.trashed_client_id,
    contact.client_id, contact.trashed_client_id
) AS client_id,
coalesce(source.contact_id, source.trashed_contact_id, deal.contact_id, deal.trashed_contact_id) AS contact_id,
coalesce(source.deal_id, source.trashed_deal_id) AS deal_id
 FROM forum_post AS source 
LEFT JOIN crm_contact AS contact
    ON contact.account_id = source.account_id AND contact.id = coalesce(source.contact_id, source.trashed_contact_id)
LEFT JOIN crm_deal AS deal
    ON deal.account_id = source.account_id AND deal.id = coalesce(source.deal_id, source.trashed_deal_id)

        CROSS JOIN LATERAL (VALUES
            (source.created_at, CASE WHEN source.category_id IS NULL THEN 'task' ELSE 'suggestion' END, source.user_id),
            (CASE WHEN source.category_id IS NULL THEN source.completed_at END, 'task_done', NULL)
        ) AS event (at, kind, user_id) WHERE source.trashed_at IS NULL AND event.at IS NOT NULL AND num_nonnulls(source.client_id, source.trashed_client_id, source.contact_id, source.trashed_contact_id, source.deal_id, source.trashed_deal_id) > 0) AS wanted
    WHERE entry.account_id = NEW.account_id AND entry.contact_id = NEW.id AND entry.resource = 'post'
        AND wanted.account_id = entry.account_id AND wanted.resource_id = entry.resource_id
        AND wanted.kind = entry.kind AND wanted.client_id IS DISTINCT FROM entry.client_id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_move_entries_of_deal() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE workspace_timelineentry SET client_id = coalesce(NEW.client_id, NEW.trashed_client_id), contact_id = coalesce(NEW.contact_id, NEW.trashed_contact_id)
    WHERE account_id = NEW.account_id AND deal_id = NEW.id AND resource IN ('deal', 'note');
    UPDATE workspace_timelineentry AS entry SET client_id = wanted.client_id, contact_id = wanted.contact_id
    FROM (SELECT source.account_id, event.at, event.kind, 'post' AS resource, source.id AS resource_id, event.user_id,
        
coalesce(
    source.client_id, source.trashed_client_id, deal.client_id, deal.trashed_client_id,
    contact.client_id, contact.trashed_client_id
) AS client_id,
coalesce(source.contact_id, source.trashed_contact_id, deal.contact_id, deal.trashed_contact_id) AS contact_id,
coalesce(source.deal_id, source.trashed_deal_id) AS deal_id
 FROM forum_post AS source 
LEFT JOIN crm_contact AS contact
    ON contact.account_id = source.account_id AND contact.id = coalesce(source.contact_id, source.trashed_contact_id)
LEFT JOIN crm_deal AS deal
    ON deal.account_id = source.account_id AND deal.id = coalesce(source.deal_id, source.trashed_deal_id)

        CROSS JOIN LATERAL (VALUES
            (source.created_at, CASE WHEN source.category_id IS NULL THEN 'task' ELSE 'suggestion' END, source.user_id),
            (CASE WHEN source.category_id IS NULL THEN source.completed_at END, 'task_done', NULL)
        ) AS event (at, kind, user_id) WHERE source.trashed_at IS NULL AND event.at IS NOT NULL AND num_nonnulls(source.client_id, source.trashed_client_id, source.contact_id, source.trashed_contact_id, source.deal_id, source.trashed_deal_id) > 0) AS wanted
    WHERE entry.account_id = NEW.account_id AND entry.deal_id = NEW.id AND entry.resource = 'post'
        AND wanted.account_id = entry.account_id AND wanted.resource_id = entry.resource_id
        AND wanted.kind = entry.kind;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_queue_revenue(of_account bigint, of_kind text, ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO workspace_revenuechange (account_id, kind, row_id)
    SELECT DISTINCT of_account, of_kind, id FROM unnest(ids) AS id WHERE id IS NOT NULL;
END $$;

CREATE FUNCTION public.workspace_raise_summaries(of_account bigint, deal bigint, contact bigint, client bigint, active_at timestamp with time zone, task_at timestamp with time zone, new_open_sum numeric, new_won_sum numeric) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    contact_of_deal bigint;
    client_of_deal bigint;
    client_of_contact bigint;
    given_contact CONSTANT bigint := contact;
    given_client CONSTANT bigint := client;
BEGIN
    <<each_kind>>
    BEGIN
        IF deal IS NOT NULL THEN
            UPDATE workspace_dealsummary SET last_activity_at = greatest(last_activity_at, active_at), next_task_at = least(next_task_at, task_at)
            WHERE account_id = of_account AND deal_id = deal AND last_activity_at IS NOT NULL RETURNING contact_id, client_id INTO contact_of_deal, client_of_deal;
            EXIT each_kind WHEN NOT FOUND OR contact <> contact_of_deal;
            contact := coalesce(contact, contact_of_deal);
        END IF;
        IF contact IS NOT NULL THEN
            UPDATE workspace_contactsummary SET last_activity_at = greatest(last_activity_at, active_at), next_task_at = least(next_task_at, task_at)
            WHERE account_id = of_account AND contact_id = contact AND last_activity_at IS NOT NULL RETURNING client_id INTO client_of_contact;
            EXIT each_kind WHEN NOT FOUND;
        END IF;
        client := coalesce(client, client_of_deal, client_of_contact);
        EXIT each_kind WHEN client <> client_of_deal OR client <> client_of_contact;
        IF client IS NOT NULL THEN
            UPDATE workspace_clientsummary SET last_activity_at = greatest(last_activity_at, active_at), next_task_at = least(next_task_at, task_at), open_sum = coalesce(new_open_sum, open_sum), won_sum = coalesce(new_won_sum, won_sum)
            WHERE account_id = of_account AND client_id = client AND last_activity_at IS NOT NULL ;
            EXIT each_kind WHEN NOT FOUND;
        END IF;
        RETURN true;
    END;
    PERFORM workspace_update_summaries(
        of_account, array_remove(ARRAY[deal], NULL),
        ARRAY(SELECT DISTINCT id FROM unnest(ARRAY[given_contact, contact_of_deal]) AS id WHERE id IS NOT NULL),
        ARRAY(SELECT DISTINCT id FROM unnest(ARRAY[given_client, client_of_deal, client_of_contact]) AS id WHERE id IS NOT NULL)
    );
    RETURN false;
END $$;

CREATE FUNCTION public.workspace_revenue_of_account() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_TABLE_NAME = 'accounts_account' THEN
        PERFORM workspace_queue_revenue(NEW.id, 'account', ARRAY[NEW.id]);
    ELSE
        PERFORM workspace_queue_revenue(NEW.account_id, 'account', ARRAY[NEW.account_id]);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_revenue_of_deal() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO workspace_revenuechange (account_id, kind, row_id) VALUES (NEW.account_id, 'client', NEW.client_id);
    ELSE
        PERFORM workspace_queue_revenue(OLD.account_id, 'client', ARRAY[OLD.client_id, NEW.client_id]);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_revenue_of_link() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    link CONSTANT crm_userlink := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    INSERT INTO workspace_revenuechange (account_id, kind, row_id, due_at)
    SELECT link.account_id, 'user', link.user_id, statement_timestamp() + delay
    FROM unnest(ARRAY['0', '2 minutes']::interval[]) AS delay;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_revenue_of_post() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP <> 'INSERT' OR num_nonnulls(NEW.client_id, NEW.contact_id, NEW.duplicate_from_id) > 0
            OR workspace_has_link(NEW.account_id, NEW.user_id) THEN
        PERFORM workspace_queue_revenue(
            coalesce(NEW.account_id, OLD.account_id), 'post', ARRAY[NEW.id, NEW.duplicate_from_id, OLD.duplicate_from_id]
        );
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_revenue_of_proxy_vote() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM workspace_queue_revenue(coalesce(NEW.account_id, OLD.account_id), 'post', ARRAY[OLD.post_id, NEW.post_id]);
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_revenue_of_row() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM workspace_queue_revenue(NEW.account_id, TG_ARGV[0], ARRAY[NEW.id]);
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_revenue_of_vote() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    vote CONSTANT forum_vote := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    IF workspace_has_link(vote.account_id, vote.user_id) THEN
        PERFORM workspace_queue_revenue(vote.account_id, 'post', ARRAY[vote.post_id]);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_summarize_new_contact() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    changed text := current_setting('workspace.changed', true);
    is_raised boolean;
BEGIN
    IF changed IS DISTINCT FROM concat('new/' || NEW.account_id || '/' || NEW.id || ' ', 'contact/' || NEW.account_id || '/' || NEW.id || ' ') OR NEW.trashed_at IS NOT NULL THEN
        PERFORM workspace_update_changed();
        RETURN NULL;
    END IF;
    changed := set_config('workspace.changed', '', true);
    
        INSERT INTO workspace_contactsummary (account_id, contact_id, client_id, last_activity_at)
        VALUES (NEW.account_id, NEW.id, NEW.client_id, NEW.updated_at) ON CONFLICT DO NOTHING;
    is_raised := workspace_raise_summaries(NEW.account_id, NULL, NULL, NEW.client_id, NEW.updated_at, NULL, NULL, NULL);
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_summarize_new_deal() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    changed text := current_setting('workspace.changed', true);
    is_raised boolean;
    outcome_of_status text;
    is_open boolean;
    value CONSTANT numeric := coalesce(NEW.price, 0);
    new_open_sum numeric;
    new_won_sum numeric;
BEGIN
    IF changed IS DISTINCT FROM concat('new/' || NEW.account_id || '/' || NEW.id || ' ', 'deal/' || NEW.account_id || '/' || NEW.id || ' ') OR NEW.trashed_at IS NOT NULL THEN
        PERFORM workspace_update_changed();
        RETURN NULL;
    END IF;
    changed := set_config('workspace.changed', '', true);
    
        INSERT INTO workspace_dealsummary (account_id, deal_id, client_id, contact_id, last_activity_at, outcome, currency, price)
        VALUES (
            NEW.account_id, NEW.id, NEW.client_id, NEW.contact_id, NEW.updated_at,
            coalesce((
                SELECT outcome FROM accounts_status WHERE account_id = NEW.account_id AND id = NEW.status_id
            ), 'open'),
            NEW.currency, coalesce(NEW.price, 0)
        ) ON CONFLICT DO NOTHING RETURNING outcome INTO outcome_of_status;
    IF NEW.client_id IS NOT NULL AND outcome_of_status IN ('open', 'won') THEN
        is_open := outcome_of_status = 'open';
        INSERT INTO workspace_clientrevenue AS total
            (account_id, client_id, currency, open_deals, open_sum, won_deals, won_sum)
        VALUES (
            NEW.account_id, NEW.client_id, NEW.currency, is_open::integer, CASE WHEN is_open THEN value ELSE 0 END,
            (NOT is_open)::integer, CASE WHEN is_open THEN 0 ELSE value END
        )
        ON CONFLICT (account_id, client_id, currency) DO UPDATE SET
                open_deals = total.open_deals + EXCLUDED.open_deals, open_sum = total.open_sum + EXCLUDED.open_sum,
                won_deals = total.won_deals + EXCLUDED.won_deals, won_sum = total.won_sum + EXCLUDED.won_sum
        RETURNING open_sum, won_sum INTO new_open_sum, new_won_sum;
        IF NEW.currency <> (SELECT currency FROM accounts_account WHERE id = NEW.account_id) THEN
            new_open_sum := NULL;
            new_won_sum := NULL;
        END IF;
    END IF;
    is_raised := workspace_raise_summaries(
        NEW.account_id, NULL, NEW.contact_id, NEW.client_id, NEW.updated_at, NULL, new_open_sum, new_won_sum
    );
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_summarize_new_note() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    changed text := current_setting('workspace.changed', true);
    is_raised boolean;
BEGIN
    IF changed IS DISTINCT FROM concat('new/' || NEW.account_id || '/' || NEW.id || ' ', 'client/' || NEW.account_id || '/' || NEW.client_id || ' ', 'contact/' || NEW.account_id || '/' || NEW.contact_id || ' ', 'deal/' || NEW.account_id || '/' || NEW.deal_id || ' ') OR NEW.trashed_at IS NOT NULL THEN
        PERFORM workspace_update_changed();
        RETURN NULL;
    END IF;
    changed := set_config('workspace.changed', '', true);
    is_raised := workspace_raise_summaries(
        NEW.account_id, NEW.deal_id, NEW.contact_id, NEW.client_id, NEW.updated_at, NULL, NULL, NULL
    );
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_summarize_new_post() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    changed text := current_setting('workspace.changed', true);
    is_raised boolean;
BEGIN
    IF changed IS DISTINCT FROM concat('new/' || NEW.account_id || '/' || NEW.id || ' ', 'client/' || NEW.account_id || '/' || NEW.client_id || ' ', 'contact/' || NEW.account_id || '/' || NEW.contact_id || ' ', 'deal/' || NEW.account_id || '/' || NEW.deal_id || ' ') OR NEW.trashed_at IS NOT NULL THEN
        PERFORM workspace_update_changed();
        RETURN NULL;
    END IF;
    changed := set_config('workspace.changed', '', true);
    is_raised := workspace_raise_summaries(
        NEW.account_id, NEW.deal_id, NEW.contact_id, NEW.client_id, NEW.updated_at, CASE WHEN NEW.category_id IS NULL AND NOT NEW.closed THEN NEW.scheduled_at END, NULL, NULL
    );
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_update_at_commit() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM workspace_update_changed();
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_update_changed() RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    changed CONSTANT text := current_setting('workspace.changed', true);
    account record;
BEGIN
    IF coalesce(changed, '') = '' THEN
        RETURN;
    END IF;
    PERFORM set_config('workspace.changed', '', true);
    FOR account IN
        SELECT parts[2]::bigint AS id,
            coalesce(array_agg(DISTINCT parts[3]::bigint) FILTER (WHERE parts[1] = 'deal'), '{}') AS deals,
            coalesce(array_agg(DISTINCT parts[3]::bigint) FILTER (WHERE parts[1] = 'contact'), '{}') AS contacts,
            coalesce(array_agg(DISTINCT parts[3]::bigint) FILTER (WHERE parts[1] = 'client'), '{}') AS clients
        FROM (SELECT string_to_array(item, '/') AS parts FROM string_to_table(rtrim(changed), ' ') AS item) AS items
        GROUP BY parts[2]::bigint ORDER BY parts[2]::bigint
    LOOP
        PERFORM workspace_update_summaries(account.id, account.deals, account.contacts, account.clients);
    END LOOP;
END $$;

CREATE FUNCTION public.workspace_update_summaries(of_account bigint, deals bigint[], contacts bigint[], clients bigint[]) RETURNS integer
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
        PERFORM FROM workspace_dealsummary
            WHERE account_id = of_account AND deal_id = ANY (deals) ORDER BY deal_id FOR NO KEY UPDATE;
        WITH 
    differing AS MATERIALIZED (
        SELECT new.*, old.client_id AS old_client_id, old.contact_id AS old_contact_id, old.last_activity_at AS old_last_activity_at, old.next_task_at AS old_next_task_at, old.outcome AS old_outcome, old.currency AS old_currency, old.price AS old_price FROM workspace_current_deals(of_account, deals) AS new
        LEFT JOIN LATERAL (SELECT * FROM workspace_dealsummary WHERE account_id = of_account AND deal_id = new.deal_id OFFSET 0) AS old ON true
        WHERE NOT new.is_found OR old.deal_id IS NULL OR (new.client_id, new.contact_id, new.last_activity_at, new.next_task_at, new.outcome, new.currency, new.price) IS DISTINCT FROM (old.client_id, old.contact_id, old.last_activity_at, old.next_task_at, old.outcome, old.currency, old.price)
    ), written AS (
        INSERT INTO workspace_dealsummary (account_id, deal_id, client_id, contact_id, last_activity_at, next_task_at, outcome, currency, price)
        SELECT of_account, deal_id, client_id, contact_id, last_activity_at, next_task_at, outcome, currency, price FROM differing WHERE is_found ORDER BY deal_id
        ON CONFLICT (account_id, deal_id) DO UPDATE SET client_id = EXCLUDED.client_id, contact_id = EXCLUDED.contact_id, last_activity_at = EXCLUDED.last_activity_at, next_task_at = EXCLUDED.next_task_at, outcome = EXCLUDED.outcome, currency = EXCLUDED.currency, price = EXCLUDED.price
    ), erased AS (
        DELETE FROM workspace_dealsummary WHERE account_id = of_account AND deal_id = ANY (ARRAY(SELECT deal_id FROM differing WHERE NOT is_found))
    ), revenue AS (
            INSERT INTO workspace_clientrevenue AS total
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
        DELETE FROM workspace_clientrevenue
        WHERE account_id = of_account AND client_id = ANY (linked_clients) AND open_deals = 0 AND won_deals = 0;
    END IF;
    IF cardinality(contacts) > 0 THEN
        PERFORM FROM workspace_contactsummary
            WHERE account_id = of_account AND contact_id = ANY (contacts) ORDER BY contact_id FOR NO KEY UPDATE;
        WITH 
    differing AS MATERIALIZED (
        SELECT new.*, old.client_id AS old_client_id, old.last_activity_at AS old_last_activity_at, old.next_task_at AS old_next_task_at FROM workspace_current_contacts(of_account, contacts) AS new
        LEFT JOIN LATERAL (SELECT * FROM workspace_contactsummary WHERE account_id = of_account AND contact_id = new.contact_id OFFSET 0) AS old ON true
        WHERE NOT new.is_found OR old.contact_id IS NULL OR (new.client_id, new.last_activity_at, new.next_task_at) IS DISTINCT FROM (old.client_id, old.last_activity_at, old.next_task_at)
    ), written AS (
        INSERT INTO workspace_contactsummary (account_id, contact_id, client_id, last_activity_at, next_task_at)
        SELECT of_account, contact_id, client_id, last_activity_at, next_task_at FROM differing WHERE is_found ORDER BY contact_id
        ON CONFLICT (account_id, contact_id) DO UPDATE SET client_id = EXCLUDED.client_id, last_activity_at = EXCLUDED.last_activity_at, next_task_at = EXCLUDED.next_task_at
    ), erased AS (
        DELETE FROM workspace_contactsummary WHERE account_id = of_account AND contact_id = ANY (ARRAY(SELECT contact_id FROM differing WHERE NOT is_found))
    )
        SELECT array_agg(client_id) || array_agg(old_client_id) INTO linked_clients FROM differing;
        clients := ARRAY(SELECT DISTINCT id FROM unnest(clients || linked_clients) AS id WHERE id IS NOT NULL);
    END IF;
    IF cardinality(clients) > 0 THEN
        PERFORM FROM workspace_clientsummary
            WHERE account_id = of_account AND client_id = ANY (clients) ORDER BY client_id FOR NO KEY UPDATE;
        WITH 
    differing AS MATERIALIZED (
        SELECT new.*, old.last_activity_at AS old_last_activity_at, old.next_task_at AS old_next_task_at, old.open_sum AS old_open_sum, old.won_sum AS old_won_sum FROM workspace_current_clients(of_account, clients) AS new
        LEFT JOIN LATERAL (SELECT * FROM workspace_clientsummary WHERE account_id = of_account AND client_id = new.client_id OFFSET 0) AS old ON true
        WHERE NOT new.is_found OR old.client_id IS NULL OR (new.last_activity_at, new.next_task_at, new.open_sum, new.won_sum) IS DISTINCT FROM (old.last_activity_at, old.next_task_at, old.open_sum, old.won_sum)
    ), written AS (
        INSERT INTO workspace_clientsummary (account_id, client_id, last_activity_at, next_task_at, open_sum, won_sum)
        SELECT of_account, client_id, last_activity_at, next_task_at, open_sum, won_sum FROM differing WHERE is_found ORDER BY client_id
        ON CONFLICT (account_id, client_id) DO UPDATE SET last_activity_at = EXCLUDED.last_activity_at, next_task_at = EXCLUDED.next_task_at, open_sum = EXCLUDED.open_sum, won_sum = EXCLUDED.won_sum
    ), erased AS (
        DELETE FROM workspace_clientsummary WHERE account_id = of_account AND client_id = ANY (ARRAY(SELECT client_id FROM differing WHERE NOT is_found))
    )
        SELECT count(*) INTO number_of_clients FROM differing;
    END IF;
    RETURN number_of_clients;
END $$;

-- Generated columns, storage and statistics

ALTER TABLE ONLY public.workspace_bulkchange ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.workspace_bulkchangerow ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.workspace_calendarfeed ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.workspace_clientrevenue ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.workspace_clientsummary SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.workspace_clientsummary ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.workspace_contactsummary SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.workspace_contactsummary ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.workspace_dealsummary SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.workspace_dealsummary ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.workspace_merge ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.workspace_mergedrow ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.workspace_message ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.workspace_messagerecipient ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.workspace_postbacker ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.workspace_postrevenue ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.workspace_revenuechange SET (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY public.workspace_revenuechange ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.workspace_savedview ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.workspace_timelineentry SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.workspace_timelineentry ALTER COLUMN account_id SET (n_distinct=2);

-- Foreign keys

ALTER TABLE ONLY public.workspace_bulkchange ADD CONSTRAINT workspace_bulkchange_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.workspace_bulkchange ADD CONSTRAINT workspace_bulkchange_undone_by_id_fk FOREIGN KEY (account_id, undone_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.workspace_bulkchangerow ADD CONSTRAINT workspace_bulkchangerow_bulk_change_id_fk FOREIGN KEY (account_id, bulk_change_id) REFERENCES public.workspace_bulkchange(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_calendarfeed ADD CONSTRAINT workspace_calendarfeed_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_merge ADD CONSTRAINT workspace_merge_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_merge ADD CONSTRAINT workspace_merge_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_merge ADD CONSTRAINT workspace_merge_merged_client_id_fk FOREIGN KEY (account_id, merged_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_merge ADD CONSTRAINT workspace_merge_merged_contact_id_fk FOREIGN KEY (account_id, merged_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_merge ADD CONSTRAINT workspace_merge_undone_by_id_fk FOREIGN KEY (account_id, undone_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.workspace_merge ADD CONSTRAINT workspace_merge_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.workspace_mergedrow ADD CONSTRAINT workspace_mergedrow_merge_id_fk FOREIGN KEY (account_id, merge_id) REFERENCES public.workspace_merge(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_message ADD CONSTRAINT workspace_message_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.workspace_message ADD CONSTRAINT workspace_message_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_messagerecipient ADD CONSTRAINT workspace_messagerecipient_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_messagerecipient ADD CONSTRAINT workspace_messagerecipient_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_messagerecipient ADD CONSTRAINT workspace_messagerecipient_message_id_fk FOREIGN KEY (account_id, message_id) REFERENCES public.workspace_message(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_postbacker ADD CONSTRAINT workspace_postbacker_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_postbacker ADD CONSTRAINT workspace_postbacker_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_postrevenue ADD CONSTRAINT workspace_postrevenue_forum_id_fk FOREIGN KEY (account_id, forum_id) REFERENCES public.forum_forum(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_postrevenue ADD CONSTRAINT workspace_postrevenue_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.workspace_savedview ADD CONSTRAINT workspace_savedview_owner_id_fk FOREIGN KEY (account_id, owner_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

-- Triggers

CREATE TRIGGER collect_delete AFTER DELETE ON public.crm_client FOR EACH ROW EXECUTE FUNCTION public.workspace_collect_row('client');
CREATE TRIGGER collect_delete AFTER DELETE ON public.crm_contact FOR EACH ROW EXECUTE FUNCTION public.workspace_collect_row('contact');
CREATE TRIGGER collect_delete AFTER DELETE ON public.crm_deal FOR EACH ROW EXECUTE FUNCTION public.workspace_collect_row('deal');
CREATE TRIGGER collect_delete AFTER DELETE ON public.crm_note FOR EACH ROW WHEN ((num_nonnulls(old.client_id, old.contact_id, old.deal_id) > 0)) EXECUTE FUNCTION public.workspace_collect_links();
CREATE TRIGGER collect_delete AFTER DELETE ON public.forum_post FOR EACH ROW WHEN ((num_nonnulls(old.client_id, old.contact_id, old.deal_id) > 0)) EXECUTE FUNCTION public.workspace_collect_links();
CREATE TRIGGER collect_insert AFTER INSERT ON public.crm_client FOR EACH ROW WHEN ((NOT (new.trashed_at IS NULL))) EXECUTE FUNCTION public.workspace_collect_row('client');
CREATE TRIGGER collect_insert AFTER INSERT ON public.crm_contact FOR EACH ROW WHEN ((NOT ((new.trashed_at IS NULL) AND (new.client_id IS NULL)))) EXECUTE FUNCTION public.workspace_collect_new_contact();
CREATE TRIGGER collect_insert AFTER INSERT ON public.crm_deal FOR EACH ROW WHEN ((NOT ((new.trashed_at IS NULL) AND (new.client_id IS NULL) AND (new.contact_id IS NULL)))) EXECUTE FUNCTION public.workspace_collect_new_deal();
CREATE TRIGGER collect_insert AFTER INSERT ON public.crm_note FOR EACH ROW WHEN ((num_nonnulls(new.client_id, new.contact_id, new.deal_id) > 0)) EXECUTE FUNCTION public.workspace_collect_new_note();
CREATE TRIGGER collect_insert AFTER INSERT ON public.forum_post FOR EACH ROW WHEN ((num_nonnulls(new.client_id, new.contact_id, new.deal_id) > 0)) EXECUTE FUNCTION public.workspace_collect_new_post();
CREATE TRIGGER collect_update AFTER UPDATE ON public.crm_client FOR EACH ROW WHEN (((old.updated_at IS DISTINCT FROM new.updated_at) OR (old.trashed_at IS DISTINCT FROM new.trashed_at))) EXECUTE FUNCTION public.workspace_collect_row('client');
CREATE TRIGGER collect_update AFTER UPDATE ON public.crm_contact FOR EACH ROW WHEN ((((old.updated_at IS DISTINCT FROM new.updated_at) OR (old.trashed_at IS DISTINCT FROM new.trashed_at)) OR (old.client_id IS DISTINCT FROM new.client_id))) EXECUTE FUNCTION public.workspace_collect_row('contact');
CREATE TRIGGER collect_update AFTER UPDATE ON public.crm_deal FOR EACH ROW WHEN ((((((((old.updated_at IS DISTINCT FROM new.updated_at) OR (old.trashed_at IS DISTINCT FROM new.trashed_at)) OR (old.client_id IS DISTINCT FROM new.client_id)) OR (old.contact_id IS DISTINCT FROM new.contact_id)) OR (old.status_id IS DISTINCT FROM new.status_id)) OR ((old.currency)::text IS DISTINCT FROM (new.currency)::text)) OR (old.price IS DISTINCT FROM new.price))) EXECUTE FUNCTION public.workspace_collect_row('deal');
CREATE TRIGGER collect_update AFTER UPDATE ON public.crm_note FOR EACH ROW WHEN (((num_nonnulls(old.client_id, old.contact_id, old.deal_id, new.client_id, new.contact_id, new.deal_id) > 0) AND (((((old.updated_at IS DISTINCT FROM new.updated_at) OR (old.trashed_at IS DISTINCT FROM new.trashed_at)) OR (old.client_id IS DISTINCT FROM new.client_id)) OR (old.contact_id IS DISTINCT FROM new.contact_id)) OR (old.deal_id IS DISTINCT FROM new.deal_id)))) EXECUTE FUNCTION public.workspace_collect_links();
CREATE TRIGGER collect_update AFTER UPDATE ON public.forum_post FOR EACH ROW WHEN (((num_nonnulls(old.client_id, old.contact_id, old.deal_id, new.client_id, new.contact_id, new.deal_id) > 0) AND ((((((((old.updated_at IS DISTINCT FROM new.updated_at) OR (old.trashed_at IS DISTINCT FROM new.trashed_at)) OR (old.category_id IS DISTINCT FROM new.category_id)) OR (old.closed IS DISTINCT FROM new.closed)) OR (old.scheduled_at IS DISTINCT FROM new.scheduled_at)) OR (old.client_id IS DISTINCT FROM new.client_id)) OR (old.contact_id IS DISTINCT FROM new.contact_id)) OR (old.deal_id IS DISTINCT FROM new.deal_id)))) EXECUTE FUNCTION public.workspace_collect_links();
CREATE TRIGGER erase_entries AFTER DELETE ON public.crm_client FOR EACH ROW EXECUTE FUNCTION public.workspace_erase_entries('client');
CREATE TRIGGER erase_entries AFTER DELETE ON public.crm_contact FOR EACH ROW EXECUTE FUNCTION public.workspace_erase_entries('contact');
CREATE TRIGGER erase_entries AFTER DELETE ON public.crm_deal FOR EACH ROW EXECUTE FUNCTION public.workspace_erase_entries('deal');
CREATE TRIGGER insert_summary AFTER INSERT ON public.crm_client FOR EACH ROW WHEN ((new.trashed_at IS NULL)) EXECUTE FUNCTION public.workspace_insert_client_summary();
CREATE TRIGGER insert_summary AFTER INSERT ON public.crm_contact FOR EACH ROW WHEN (((new.trashed_at IS NULL) AND (new.client_id IS NULL))) EXECUTE FUNCTION public.workspace_insert_contact_summary();
CREATE TRIGGER insert_summary AFTER INSERT ON public.crm_deal FOR EACH ROW WHEN (((new.trashed_at IS NULL) AND (new.client_id IS NULL) AND (new.contact_id IS NULL))) EXECUTE FUNCTION public.workspace_insert_deal_summary();
CREATE TRIGGER log_changes AFTER UPDATE ON public.crm_client FOR EACH ROW EXECUTE FUNCTION public.workspace_log_client();
CREATE TRIGGER log_changes AFTER UPDATE ON public.crm_contact FOR EACH ROW EXECUTE FUNCTION public.workspace_log_contact();
CREATE TRIGGER log_changes AFTER UPDATE ON public.crm_deal FOR EACH ROW EXECUTE FUNCTION public.workspace_log_deal();
CREATE TRIGGER log_stage AFTER UPDATE ON public.crm_deal FOR EACH ROW WHEN ((old.status_id IS DISTINCT FROM new.status_id)) EXECUTE FUNCTION public.workspace_log_stage();
CREATE TRIGGER mirror_deleted AFTER DELETE ON public.crm_deal FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.workspace_mirror_deal();
CREATE TRIGGER mirror_deleted AFTER DELETE ON public.crm_note FOR EACH ROW WHEN ((num_nonnulls(old.client_id, old.trashed_client_id, old.contact_id, old.trashed_contact_id, old.deal_id, old.trashed_deal_id) > 0)) EXECUTE FUNCTION public.workspace_mirror_note();
CREATE TRIGGER mirror_deleted AFTER DELETE ON public.forum_post FOR EACH ROW WHEN ((num_nonnulls(old.client_id, old.trashed_client_id, old.contact_id, old.trashed_contact_id, old.deal_id, old.trashed_deal_id) > 0)) EXECUTE FUNCTION public.workspace_mirror_post();
CREATE TRIGGER mirror_deleted AFTER DELETE ON public.forum_proxyvote FOR EACH ROW WHEN ((old.from_post_id IS NULL)) EXECUTE FUNCTION public.workspace_mirror_vote();
CREATE TRIGGER mirror_inserted AFTER INSERT ON public.crm_deal FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.workspace_mirror_deal();
CREATE TRIGGER mirror_inserted AFTER INSERT ON public.crm_note FOR EACH ROW WHEN ((num_nonnulls(new.client_id, new.trashed_client_id, new.contact_id, new.trashed_contact_id, new.deal_id, new.trashed_deal_id) > 0)) EXECUTE FUNCTION public.workspace_mirror_note();
CREATE TRIGGER mirror_inserted AFTER INSERT ON public.forum_post FOR EACH ROW WHEN ((num_nonnulls(new.client_id, new.trashed_client_id, new.contact_id, new.trashed_contact_id, new.deal_id, new.trashed_deal_id) > 0)) EXECUTE FUNCTION public.workspace_mirror_post();
CREATE TRIGGER mirror_inserted AFTER INSERT ON public.forum_proxyvote FOR EACH ROW WHEN ((new.from_post_id IS NULL)) EXECUTE FUNCTION public.workspace_mirror_vote();
CREATE TRIGGER mirror_updated AFTER UPDATE ON public.crm_deal FOR EACH ROW WHEN (((true OR true) AND (((old.created_at IS DISTINCT FROM new.created_at) OR (COALESCE(old.client_id, old.trashed_client_id) IS DISTINCT FROM COALESCE(new.client_id, new.trashed_client_id))) OR (COALESCE(old.contact_id, old.trashed_contact_id) IS DISTINCT FROM COALESCE(new.contact_id, new.trashed_contact_id))))) EXECUTE FUNCTION public.workspace_mirror_deal();
CREATE TRIGGER mirror_updated AFTER UPDATE ON public.crm_note FOR EACH ROW WHEN ((((num_nonnulls(old.client_id, old.trashed_client_id, old.contact_id, old.trashed_contact_id, old.deal_id, old.trashed_deal_id) > 0) OR (num_nonnulls(new.client_id, new.trashed_client_id, new.contact_id, new.trashed_contact_id, new.deal_id, new.trashed_deal_id) > 0)) AND ((((((old.noted_at IS DISTINCT FROM new.noted_at) OR ((old.kind)::text IS DISTINCT FROM (new.kind)::text)) OR (old.trashed_at IS DISTINCT FROM new.trashed_at)) OR (COALESCE(old.client_id, old.trashed_client_id) IS DISTINCT FROM COALESCE(new.client_id, new.trashed_client_id))) OR (COALESCE(old.contact_id, old.trashed_contact_id) IS DISTINCT FROM COALESCE(new.contact_id, new.trashed_contact_id))) OR (COALESCE(old.deal_id, old.trashed_deal_id) IS DISTINCT FROM COALESCE(new.deal_id, new.trashed_deal_id))))) EXECUTE FUNCTION public.workspace_mirror_note();
CREATE TRIGGER mirror_updated AFTER UPDATE ON public.forum_post FOR EACH ROW WHEN ((((num_nonnulls(old.client_id, old.trashed_client_id, old.contact_id, old.trashed_contact_id, old.deal_id, old.trashed_deal_id) > 0) OR (num_nonnulls(new.client_id, new.trashed_client_id, new.contact_id, new.trashed_contact_id, new.deal_id, new.trashed_deal_id) > 0)) AND ((((((((old.created_at IS DISTINCT FROM new.created_at) OR (old.completed_at IS DISTINCT FROM new.completed_at)) OR (old.trashed_at IS DISTINCT FROM new.trashed_at)) OR ((old.category_id IS NULL) IS DISTINCT FROM (new.category_id IS NULL))) OR (old.user_id IS DISTINCT FROM new.user_id)) OR (COALESCE(old.client_id, old.trashed_client_id) IS DISTINCT FROM COALESCE(new.client_id, new.trashed_client_id))) OR (COALESCE(old.contact_id, old.trashed_contact_id) IS DISTINCT FROM COALESCE(new.contact_id, new.trashed_contact_id))) OR (COALESCE(old.deal_id, old.trashed_deal_id) IS DISTINCT FROM COALESCE(new.deal_id, new.trashed_deal_id))))) EXECUTE FUNCTION public.workspace_mirror_post();
CREATE TRIGGER mirror_updated AFTER UPDATE ON public.forum_proxyvote FOR EACH ROW WHEN ((((old.from_post_id IS NULL) OR (new.from_post_id IS NULL)) AND ((((old.created_at IS DISTINCT FROM new.created_at) OR (old.client_id IS DISTINCT FROM new.client_id)) OR (old.contact_id IS DISTINCT FROM new.contact_id)) OR ((old.from_post_id IS NULL) IS DISTINCT FROM (new.from_post_id IS NULL))))) EXECUTE FUNCTION public.workspace_mirror_vote();
CREATE TRIGGER move_entries AFTER UPDATE ON public.crm_contact FOR EACH ROW WHEN ((COALESCE(old.client_id, old.trashed_client_id) IS DISTINCT FROM COALESCE(new.client_id, new.trashed_client_id))) EXECUTE FUNCTION public.workspace_move_entries_of_contact();
CREATE TRIGGER move_entries AFTER UPDATE ON public.crm_deal FOR EACH ROW WHEN (((COALESCE(old.client_id, old.trashed_client_id) IS DISTINCT FROM COALESCE(new.client_id, new.trashed_client_id)) OR (COALESCE(old.contact_id, old.trashed_contact_id) IS DISTINCT FROM COALESCE(new.contact_id, new.trashed_contact_id)))) EXECUTE FUNCTION public.workspace_move_entries_of_deal();
CREATE CONSTRAINT TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON public.workspace_message DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.note_change('message', '', 'post_id', 'author_id', 'subject', 'text', 'among', 'include_not_asked', 'state');
CREATE TRIGGER queue_revenue_delete AFTER DELETE ON public.crm_deal FOR EACH ROW WHEN (((old.client_id IS NOT NULL) AND (old.trashed_at IS NULL))) EXECUTE FUNCTION public.workspace_revenue_of_deal();
CREATE TRIGGER queue_revenue_delete AFTER DELETE ON public.crm_userlink FOR EACH ROW WHEN (((old.state)::text = 'confirmed'::text)) EXECUTE FUNCTION public.workspace_revenue_of_link();
CREATE TRIGGER queue_revenue_delete AFTER DELETE ON public.forum_post FOR EACH ROW WHEN ((old.duplicate_from_id IS NOT NULL)) EXECUTE FUNCTION public.workspace_revenue_of_post();
CREATE TRIGGER queue_revenue_delete AFTER DELETE ON public.forum_proxyvote FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.workspace_revenue_of_proxy_vote();
CREATE TRIGGER queue_revenue_delete AFTER DELETE ON public.forum_vote FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.workspace_revenue_of_vote();
CREATE TRIGGER queue_revenue_insert AFTER INSERT ON public.crm_deal FOR EACH ROW WHEN (((new.client_id IS NOT NULL) AND (new.trashed_at IS NULL))) EXECUTE FUNCTION public.workspace_revenue_of_deal();
CREATE TRIGGER queue_revenue_insert AFTER INSERT ON public.crm_userlink FOR EACH ROW WHEN (((new.state)::text = 'confirmed'::text)) EXECUTE FUNCTION public.workspace_revenue_of_link();
CREATE TRIGGER queue_revenue_insert AFTER INSERT ON public.forum_post FOR EACH ROW WHEN ((new.category_id IS NOT NULL)) EXECUTE FUNCTION public.workspace_revenue_of_post();
CREATE TRIGGER queue_revenue_insert AFTER INSERT ON public.forum_proxyvote FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.workspace_revenue_of_proxy_vote();
CREATE TRIGGER queue_revenue_insert AFTER INSERT ON public.forum_vote FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.workspace_revenue_of_vote();
CREATE TRIGGER queue_revenue_update AFTER UPDATE ON public.accounts_account FOR EACH ROW WHEN (((old.currency)::text IS DISTINCT FROM (new.currency)::text)) EXECUTE FUNCTION public.workspace_revenue_of_account();
CREATE TRIGGER queue_revenue_update AFTER UPDATE ON public.accounts_status FOR EACH ROW WHEN (((old.outcome)::text IS DISTINCT FROM (new.outcome)::text)) EXECUTE FUNCTION public.workspace_revenue_of_account();
CREATE TRIGGER queue_revenue_update AFTER UPDATE ON public.crm_client FOR EACH ROW WHEN ((old.trashed_at IS DISTINCT FROM new.trashed_at)) EXECUTE FUNCTION public.workspace_revenue_of_row('client');
CREATE TRIGGER queue_revenue_update AFTER UPDATE ON public.crm_contact FOR EACH ROW WHEN (((old.client_id IS DISTINCT FROM new.client_id) OR (old.trashed_at IS DISTINCT FROM new.trashed_at))) EXECUTE FUNCTION public.workspace_revenue_of_row('contact');
CREATE TRIGGER queue_revenue_update AFTER UPDATE ON public.crm_deal FOR EACH ROW WHEN ((((((old.client_id IS DISTINCT FROM new.client_id) OR (old.status_id IS DISTINCT FROM new.status_id)) OR ((old.currency)::text IS DISTINCT FROM (new.currency)::text)) OR (old.price IS DISTINCT FROM new.price)) OR (old.trashed_at IS DISTINCT FROM new.trashed_at))) EXECUTE FUNCTION public.workspace_revenue_of_deal();
CREATE TRIGGER queue_revenue_update AFTER UPDATE ON public.crm_userlink FOR EACH ROW WHEN (((((old.state)::text IS DISTINCT FROM (new.state)::text) OR (old.client_id IS DISTINCT FROM new.client_id)) OR (old.contact_id IS DISTINCT FROM new.contact_id))) EXECUTE FUNCTION public.workspace_revenue_of_link();
CREATE TRIGGER queue_revenue_update AFTER UPDATE ON public.forum_post FOR EACH ROW WHEN (((num_nonnulls(old.category_id, new.category_id) > 0) AND ((((((old.client_id IS DISTINCT FROM new.client_id) OR (old.contact_id IS DISTINCT FROM new.contact_id)) OR (old.user_id IS DISTINCT FROM new.user_id)) OR (old.duplicate_from_id IS DISTINCT FROM new.duplicate_from_id)) OR (old.trashed_at IS DISTINCT FROM new.trashed_at)) OR (old.forum_id IS DISTINCT FROM new.forum_id)))) EXECUTE FUNCTION public.workspace_revenue_of_post();
CREATE TRIGGER queue_revenue_update AFTER UPDATE ON public.forum_proxyvote FOR EACH ROW WHEN ((((old.post_id IS DISTINCT FROM new.post_id) OR (old.client_id IS DISTINCT FROM new.client_id)) OR (old.contact_id IS DISTINCT FROM new.contact_id))) EXECUTE FUNCTION public.workspace_revenue_of_proxy_vote();
CREATE CONSTRAINT TRIGGER summarize_delete AFTER DELETE ON public.crm_client DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.workspace_update_at_commit();
CREATE CONSTRAINT TRIGGER summarize_delete AFTER DELETE ON public.crm_contact DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.workspace_update_at_commit();
CREATE CONSTRAINT TRIGGER summarize_delete AFTER DELETE ON public.crm_deal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.workspace_update_at_commit();
CREATE CONSTRAINT TRIGGER summarize_delete AFTER DELETE ON public.crm_note DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((num_nonnulls(old.client_id, old.contact_id, old.deal_id) > 0)) EXECUTE FUNCTION public.workspace_update_at_commit();
CREATE CONSTRAINT TRIGGER summarize_delete AFTER DELETE ON public.forum_post DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((num_nonnulls(old.client_id, old.contact_id, old.deal_id) > 0)) EXECUTE FUNCTION public.workspace_update_at_commit();
CREATE CONSTRAINT TRIGGER summarize_insert AFTER INSERT ON public.crm_client DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((NOT (new.trashed_at IS NULL))) EXECUTE FUNCTION public.workspace_update_at_commit();
CREATE CONSTRAINT TRIGGER summarize_insert AFTER INSERT ON public.crm_contact DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((NOT ((new.trashed_at IS NULL) AND (new.client_id IS NULL)))) EXECUTE FUNCTION public.workspace_summarize_new_contact();
CREATE CONSTRAINT TRIGGER summarize_insert AFTER INSERT ON public.crm_deal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((NOT ((new.trashed_at IS NULL) AND (new.client_id IS NULL) AND (new.contact_id IS NULL)))) EXECUTE FUNCTION public.workspace_summarize_new_deal();
CREATE CONSTRAINT TRIGGER summarize_insert AFTER INSERT ON public.crm_note DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((num_nonnulls(new.client_id, new.contact_id, new.deal_id) > 0)) EXECUTE FUNCTION public.workspace_summarize_new_note();
CREATE CONSTRAINT TRIGGER summarize_insert AFTER INSERT ON public.forum_post DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((num_nonnulls(new.client_id, new.contact_id, new.deal_id) > 0)) EXECUTE FUNCTION public.workspace_summarize_new_post();
CREATE CONSTRAINT TRIGGER summarize_update AFTER UPDATE ON public.crm_client DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((old.updated_at IS DISTINCT FROM new.updated_at) OR (old.trashed_at IS DISTINCT FROM new.trashed_at))) EXECUTE FUNCTION public.workspace_update_at_commit();
CREATE CONSTRAINT TRIGGER summarize_update AFTER UPDATE ON public.crm_contact DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((old.updated_at IS DISTINCT FROM new.updated_at) OR (old.trashed_at IS DISTINCT FROM new.trashed_at)) OR (old.client_id IS DISTINCT FROM new.client_id))) EXECUTE FUNCTION public.workspace_update_at_commit();
CREATE CONSTRAINT TRIGGER summarize_update AFTER UPDATE ON public.crm_deal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((((((old.updated_at IS DISTINCT FROM new.updated_at) OR (old.trashed_at IS DISTINCT FROM new.trashed_at)) OR (old.client_id IS DISTINCT FROM new.client_id)) OR (old.contact_id IS DISTINCT FROM new.contact_id)) OR (old.status_id IS DISTINCT FROM new.status_id)) OR ((old.currency)::text IS DISTINCT FROM (new.currency)::text)) OR (old.price IS DISTINCT FROM new.price))) EXECUTE FUNCTION public.workspace_update_at_commit();
CREATE CONSTRAINT TRIGGER summarize_update AFTER UPDATE ON public.crm_note DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((num_nonnulls(old.client_id, old.contact_id, old.deal_id, new.client_id, new.contact_id, new.deal_id) > 0) AND (((((old.updated_at IS DISTINCT FROM new.updated_at) OR (old.trashed_at IS DISTINCT FROM new.trashed_at)) OR (old.client_id IS DISTINCT FROM new.client_id)) OR (old.contact_id IS DISTINCT FROM new.contact_id)) OR (old.deal_id IS DISTINCT FROM new.deal_id)))) EXECUTE FUNCTION public.workspace_update_at_commit();
CREATE CONSTRAINT TRIGGER summarize_update AFTER UPDATE ON public.forum_post DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((num_nonnulls(old.client_id, old.contact_id, old.deal_id, new.client_id, new.contact_id, new.deal_id) > 0) AND ((((((((old.updated_at IS DISTINCT FROM new.updated_at) OR (old.trashed_at IS DISTINCT FROM new.trashed_at)) OR (old.category_id IS DISTINCT FROM new.category_id)) OR (old.closed IS DISTINCT FROM new.closed)) OR (old.scheduled_at IS DISTINCT FROM new.scheduled_at)) OR (old.client_id IS DISTINCT FROM new.client_id)) OR (old.contact_id IS DISTINCT FROM new.contact_id)) OR (old.deal_id IS DISTINCT FROM new.deal_id)))) EXECUTE FUNCTION public.workspace_update_at_commit();
CREATE TRIGGER take_id BEFORE INSERT ON public.workspace_bulkchange FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.workspace_calendarfeed FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.workspace_merge FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.workspace_message FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.workspace_savedview FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
