-- Functions

CREATE FUNCTION public.workspace_current_clients(of_account bigint, ids bigint[]) RETURNS TABLE (
    client_id bigint, is_found boolean, last_activity_at timestamptz, next_task_at timestamptz, open_sum numeric, won_sum numeric
) LANGUAGE sql STABLE AS $$
    SELECT given.id, client.id IS NOT NULL, live.last_activity_at, live.next_task_at, coalesce(revenue.open_sum, 0),
        coalesce(revenue.won_sum, 0)
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_client WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS client ON true
    LEFT JOIN LATERAL (
        SELECT
            greatest(client.created_at, (
                SELECT max(at) FROM workspace_timelineentry
                WHERE account_id = of_account AND client_id = client.id AND kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')
            )) AS last_activity_at,
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

CREATE FUNCTION public.workspace_current_contacts(of_account bigint, ids bigint[]) RETURNS TABLE (
    contact_id bigint, is_found boolean, client_id bigint, last_activity_at timestamptz, next_task_at timestamptz
) LANGUAGE sql STABLE AS $$
    SELECT given.id, contact.id IS NOT NULL, live.client_id, live.last_activity_at, live.next_task_at
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_contact WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS contact ON true
    LEFT JOIN LATERAL (
        SELECT contact.client_id,
            greatest(contact.created_at, (
                SELECT max(at) FROM workspace_timelineentry
                WHERE account_id = of_account AND contact_id = contact.id AND kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')
            )) AS last_activity_at,
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

CREATE FUNCTION public.workspace_current_deals(of_account bigint, ids bigint[]) RETURNS TABLE (
    deal_id bigint, is_found boolean, client_id bigint, contact_id bigint, last_activity_at timestamptz, next_task_at timestamptz,
    outcome text, currency text, price numeric
) LANGUAGE sql STABLE AS $$
    SELECT given.id, deal.id IS NOT NULL, live.client_id, live.contact_id, live.last_activity_at, live.next_task_at, live.outcome,
        live.currency, live.price
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_deal WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS deal ON true
    LEFT JOIN LATERAL (
        SELECT deal.client_id, deal.contact_id,
            greatest(deal.created_at, (
                SELECT max(at) FROM workspace_timelineentry
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

-- Let the entries of the timeline that link to a row follow its own links, and the erasure of the row. The argument is the link. Erasing a row
-- deletes its own entries, and those that no other row keeps.
CREATE FUNCTION public.workspace_follow_link() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
BEGIN
    IF TG_OP = 'DELETE' THEN
        EXECUTE format(
            'DELETE FROM workspace_timelineentry WHERE account_id = $1 AND %1$I = $2
                AND (resource = $3 OR num_nonnulls(client_id, contact_id, deal_id) = 1)',
            TG_ARGV[0] || '_id'
        ) USING OLD.account_id, OLD.id, TG_ARGV[0];
        EXECUTE format(
            'UPDATE workspace_timelineentry SET %1$I = NULL WHERE account_id = $1 AND %1$I = $2', TG_ARGV[0] || '_id'
        ) USING OLD.account_id, OLD.id;
        RETURN NULL;
    END IF;
    IF TG_ARGV[0] = 'contact' THEN
        IF coalesce(OLD.client_id, OLD.trashed_client_id) IS NOT DISTINCT FROM coalesce(NEW.client_id, NEW.trashed_client_id) THEN
            RETURN NULL;
        END IF;
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
    ELSE
        IF (coalesce(OLD.client_id, OLD.trashed_client_id), coalesce(OLD.contact_id, OLD.trashed_contact_id))
            IS NOT DISTINCT FROM (coalesce(NEW.client_id, NEW.trashed_client_id), coalesce(NEW.contact_id, NEW.trashed_contact_id))
        THEN
            RETURN NULL;
        END IF;
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
    END IF;
    RETURN NULL;
END $_$;

-- Log the changed fields of a client, a contact or a deal, and the stages of a deal. The arguments are the resource and its columns whose
-- changes are logged. If a linked row is erased, the link becomes null. This is no change that a user made.
CREATE FUNCTION public.workspace_log_changes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    former CONSTANT jsonb := to_jsonb(OLD);
    newer CONSTANT jsonb := to_jsonb(NEW);
    -- A write that does not set `updated_at` was not made by a user.
    is_by_user CONSTANT boolean := NEW.updated_at IS DISTINCT FROM OLD.updated_at;
    client CONSTANT bigint := CASE TG_ARGV[0] WHEN 'client' THEN NEW.id
        ELSE coalesce(newer ->> 'client_id', newer ->> 'trashed_client_id')::bigint END;
    contact CONSTANT bigint := CASE TG_ARGV[0] WHEN 'contact' THEN NEW.id
        WHEN 'deal' THEN coalesce(newer ->> 'contact_id', newer ->> 'trashed_contact_id')::bigint END;
    deal CONSTANT bigint := CASE TG_ARGV[0] WHEN 'deal' THEN NEW.id END;
    changes jsonb;
BEGIN
    IF TG_ARGV[0] = 'deal' THEN
        IF OLD.status_id IS DISTINCT FROM NEW.status_id THEN
            INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data)
            VALUES (
                NEW.account_id,
                coalesce(NEW.stage_entered_at, CASE WHEN is_by_user THEN NEW.updated_at ELSE clock_timestamp() END),
                'stage', 'deal', NEW.id, client, contact, deal, CASE WHEN is_by_user THEN NEW.updater_id END,
                jsonb_build_object(
                    'before', (
                        SELECT jsonb_build_object('id', id, 'code', code, 'name', name, 'color', color, 'outcome', outcome)
                        FROM accounts_status WHERE account_id = OLD.account_id AND id = OLD.status_id
                    ),
                    'after', (
                        SELECT jsonb_build_object('id', id, 'code', code, 'name', name, 'color', color, 'outcome', outcome)
                        FROM accounts_status WHERE account_id = NEW.account_id AND id = NEW.status_id
                    )
                )
            );
        END IF;
    END IF;
    SELECT jsonb_agg(
        jsonb_build_object('field', field, 'before', CASE WHEN length(before::text) > 520 THEN to_jsonb(left(before #>> '{}', 500) || '…') ELSE before END, 'after', CASE WHEN length(after::text) > 520 THEN to_jsonb(left(after #>> '{}', 500) || '…') ELSE after END) ORDER BY place, field
    ) INTO changes
    FROM (
        SELECT place, field, CASE WHEN former -> field = 'null' AND after IS NULL THEN NULL ELSE nullif(before, '""') END AS before,
            nullif(after, '""') AS after
        FROM unnest(TG_ARGV[1:]) WITH ORDINALITY AS logged (field, place)
        CROSS JOIN LATERAL (SELECT coalesce(nullif(former -> field, 'null'), nullif(former -> ('trashed_' || field), 'null')) AS before, coalesce(nullif(newer -> field, 'null'), nullif(newer -> ('trashed_' || field), 'null')) AS after) AS value
        UNION ALL
        SELECT TG_NARGS, 'additional_fields[' || key || ']', before.value, after.value
        FROM jsonb_each(OLD.additional_fields) AS before FULL JOIN jsonb_each(NEW.additional_fields) AS after USING (key)
        WHERE OLD.additional_fields IS DISTINCT FROM NEW.additional_fields
    ) AS changed
    WHERE before IS DISTINCT FROM after;
    IF changes IS NOT NULL THEN
        INSERT INTO workspace_timelineentry (account_id, at, kind, resource, resource_id, client_id, contact_id, deal_id, user_id, data)
        VALUES (
            NEW.account_id, CASE WHEN is_by_user THEN NEW.updated_at ELSE clock_timestamp() END, 'change', TG_ARGV[0], NEW.id,
            client, contact, deal, CASE WHEN is_by_user THEN NEW.updater_id END, jsonb_build_object('changes', changes)
        );
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.workspace_mirror_deal() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            BEGIN
    IF TG_OP = 'UPDATE' AND (OLD.created_at, coalesce(OLD.client_id, OLD.trashed_client_id), coalesce(OLD.contact_id, OLD.trashed_contact_id))
            IS NOT DISTINCT FROM (NEW.created_at, coalesce(NEW.client_id, NEW.trashed_client_id), coalesce(NEW.contact_id, NEW.trashed_contact_id))
    THEN
        RETURN NULL;
    END IF;
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
    IF TG_OP = 'UPDATE' AND (OLD.noted_at, OLD.kind, OLD.trashed_at, coalesce(OLD.client_id, OLD.trashed_client_id), coalesce(OLD.contact_id, OLD.trashed_contact_id), coalesce(OLD.deal_id, OLD.trashed_deal_id))
            IS NOT DISTINCT FROM (NEW.noted_at, NEW.kind, NEW.trashed_at, coalesce(NEW.client_id, NEW.trashed_client_id), coalesce(NEW.contact_id, NEW.trashed_contact_id), coalesce(NEW.deal_id, NEW.trashed_deal_id))
    THEN
        RETURN NULL;
    END IF;
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
    -- Most posts have no links.
    IF num_nonnulls(OLD.client_id, OLD.trashed_client_id, OLD.contact_id, OLD.trashed_contact_id, OLD.deal_id, OLD.trashed_deal_id) = 0 AND num_nonnulls(NEW.client_id, NEW.trashed_client_id, NEW.contact_id, NEW.trashed_contact_id, NEW.deal_id, NEW.trashed_deal_id) = 0 THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' AND (OLD.created_at, OLD.completed_at, OLD.trashed_at, OLD.category_id IS NULL, OLD.user_id, coalesce(OLD.client_id, OLD.trashed_client_id), coalesce(OLD.contact_id, OLD.trashed_contact_id), coalesce(OLD.deal_id, OLD.trashed_deal_id))
            IS NOT DISTINCT FROM (NEW.created_at, NEW.completed_at, NEW.trashed_at, NEW.category_id IS NULL, NEW.user_id, coalesce(NEW.client_id, NEW.trashed_client_id), coalesce(NEW.contact_id, NEW.trashed_contact_id), coalesce(NEW.deal_id, NEW.trashed_deal_id))
    THEN
        RETURN NULL;
    END IF;
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
    IF TG_OP = 'UPDATE' AND (OLD.created_at, OLD.client_id, OLD.contact_id, OLD.from_post_id IS NULL)
            IS NOT DISTINCT FROM (NEW.created_at, NEW.client_id, NEW.contact_id, NEW.from_post_id IS NULL)
    THEN
        RETURN NULL;
    END IF;
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

-- Queue the suggestions whose figures depend on a changed vote. The votes of a user count only with a confirmed link. The change of such a
-- link queues the user.
CREATE FUNCTION public.workspace_queue_post() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    vote CONSTANT record := coalesce(NEW, OLD);
BEGIN
    IF TG_TABLE_NAME = 'forum_proxyvote' OR EXISTS (
        SELECT FROM crm_userlink WHERE account_id = vote.account_id AND user_id = vote.user_id AND state = 'confirmed'
    ) THEN
        INSERT INTO workspace_revenuechange (account_id, kind, row_id)
        SELECT DISTINCT vote.account_id, 'post', id FROM unnest(ARRAY[OLD.post_id, NEW.post_id]) AS id WHERE id IS NOT NULL;
    END IF;
    RETURN NULL;
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

-- A forum whose segment is deleted has none.
ALTER TABLE ONLY public.forum_forum ADD CONSTRAINT forum_forum_segment_id_fk FOREIGN KEY (account_id, segment_id) REFERENCES public.workspace_savedview(account_id, id) ON DELETE SET NULL (segment_id);
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

CREATE TRIGGER follow_link AFTER DELETE ON public.crm_client FOR EACH ROW EXECUTE FUNCTION public.workspace_follow_link('client');
CREATE TRIGGER follow_link AFTER UPDATE OR DELETE ON public.crm_contact FOR EACH ROW EXECUTE FUNCTION public.workspace_follow_link('contact');
CREATE TRIGGER follow_link AFTER UPDATE OR DELETE ON public.crm_deal FOR EACH ROW EXECUTE FUNCTION public.workspace_follow_link('deal');
CREATE TRIGGER log_changes AFTER UPDATE ON public.crm_client FOR EACH ROW EXECUTE FUNCTION public.workspace_log_changes('client', 'name', 'first_name', 'last_name', 'email', 'phone', 'mobile_phone', 'fax', 'www', 'contact_id', 'street', 'street_no', 'post_code', 'city', 'province', 'country', 'delivery_address', 'use_delivery_address', 'company', 'shortcut', 'kind', 'tax_no', 'register_number', 'bank', 'bank_account', 'discount', 'status_id', 'responsible_id', 'tags', 'note', 'description', 'url', 'origin', 'consent', 'do_not_contact');
CREATE TRIGGER log_changes AFTER UPDATE ON public.crm_contact FOR EACH ROW EXECUTE FUNCTION public.workspace_log_changes('contact', 'name', 'first_name', 'last_name', 'email', 'phone', 'mobile_phone', 'client_id', 'position', 'responsible_id', 'tags', 'note', 'description', 'consent', 'do_not_contact');
CREATE TRIGGER log_changes AFTER UPDATE ON public.crm_deal FOR EACH ROW EXECUTE FUNCTION public.workspace_log_changes('deal', 'name', 'client_id', 'contact_id', 'price', 'currency', 'expected_close_date', 'responsible_id', 'won_reason', 'lost_reason', 'tags', 'description', 'url', 'origin');
CREATE TRIGGER mirror AFTER INSERT OR UPDATE OR DELETE ON public.crm_deal FOR EACH ROW EXECUTE FUNCTION public.workspace_mirror_deal();
CREATE TRIGGER mirror AFTER INSERT OR UPDATE OR DELETE ON public.crm_note FOR EACH ROW EXECUTE FUNCTION public.workspace_mirror_note();
CREATE TRIGGER mirror AFTER INSERT OR UPDATE OR DELETE ON public.forum_post FOR EACH ROW EXECUTE FUNCTION public.workspace_mirror_post();
CREATE TRIGGER mirror AFTER INSERT OR UPDATE OR DELETE ON public.forum_proxyvote FOR EACH ROW EXECUTE FUNCTION public.workspace_mirror_vote();
CREATE CONSTRAINT TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON public.workspace_message DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.note_change('message', '', 'post_id', 'author_id', 'subject', 'text', 'among', 'include_not_asked', 'state');
CREATE TRIGGER queue_post AFTER INSERT OR UPDATE OR DELETE ON public.forum_proxyvote FOR EACH ROW EXECUTE FUNCTION public.workspace_queue_post();
CREATE TRIGGER queue_post AFTER INSERT OR DELETE ON public.forum_vote FOR EACH ROW EXECUTE FUNCTION public.workspace_queue_post();
CREATE TRIGGER take_id BEFORE INSERT ON public.workspace_bulkchange FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.workspace_calendarfeed FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.workspace_merge FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.workspace_message FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.workspace_savedview FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
