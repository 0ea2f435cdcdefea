-- The summaries of clients, contacts and deals (`workspace.summaries`), whatever writes the rows.
--
-- 1. A row trigger adds the changed row, or the rows to which it links, to the setting `workspace.changed` of the transaction. The entries of
--    the timeline are the rows for the last activity, open tasks those for the next task.
-- 2. A deferred trigger updates their summaries when the transaction commits. It locks the summaries of deals, then of contacts, then of
--    clients, each in the order of the ids, so that concurrent transactions cannot deadlock.
-- 3. If the transaction only creates one row with links, the deferred trigger raises the summaries of the linked rows, in the same order of
--    the locks. A new client or contact, and a new deal without a client, gets its summary at once.

DROP TRIGGER insert_summary ON crm_client;
DROP TRIGGER insert_summary ON crm_contact;
DROP TRIGGER insert_summary ON crm_deal;
DROP TRIGGER summarize_insert ON crm_client;
DROP TRIGGER collect_insert ON crm_client;
DROP TRIGGER summarize_update ON crm_client;
DROP TRIGGER collect_update ON crm_client;
DROP TRIGGER summarize_delete ON crm_client;
DROP TRIGGER collect_delete ON crm_client;
DROP TRIGGER summarize_insert ON crm_contact;
DROP TRIGGER collect_insert ON crm_contact;
DROP TRIGGER summarize_update ON crm_contact;
DROP TRIGGER collect_update ON crm_contact;
DROP TRIGGER summarize_delete ON crm_contact;
DROP TRIGGER collect_delete ON crm_contact;
DROP TRIGGER summarize_insert ON crm_deal;
DROP TRIGGER collect_insert ON crm_deal;
DROP TRIGGER summarize_update ON crm_deal;
DROP TRIGGER collect_update ON crm_deal;
DROP TRIGGER summarize_delete ON crm_deal;
DROP TRIGGER collect_delete ON crm_deal;
DROP TRIGGER summarize_insert ON crm_note;
DROP TRIGGER collect_insert ON crm_note;
DROP TRIGGER summarize_update ON crm_note;
DROP TRIGGER collect_update ON crm_note;
DROP TRIGGER summarize_delete ON crm_note;
DROP TRIGGER collect_delete ON crm_note;
DROP TRIGGER summarize_insert ON forum_post;
DROP TRIGGER collect_insert ON forum_post;
DROP TRIGGER summarize_update ON forum_post;
DROP TRIGGER collect_update ON forum_post;
DROP TRIGGER summarize_delete ON forum_post;
DROP TRIGGER collect_delete ON forum_post;
DROP FUNCTION workspace_summarize_new_contact();
DROP FUNCTION workspace_collect_new_contact();
DROP FUNCTION workspace_summarize_new_note();
DROP FUNCTION workspace_collect_new_note();

CREATE OR REPLACE FUNCTION workspace_current_deals(of_account bigint, ids bigint[]) RETURNS TABLE (
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

CREATE OR REPLACE FUNCTION workspace_current_contacts(of_account bigint, ids bigint[]) RETURNS TABLE (
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

CREATE OR REPLACE FUNCTION workspace_current_clients(of_account bigint, ids bigint[]) RETURNS TABLE (
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

CREATE OR REPLACE FUNCTION workspace_collect_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat(TG_ARGV[0], '/', OLD.account_id, '/', OLD.id, ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    ELSE
        IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat(TG_ARGV[0], '/', NEW.account_id, '/', NEW.id, ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_collect_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat('client/' || OLD.account_id || '/' || OLD.client_id || ' ', 'contact/' || OLD.account_id || '/' || OLD.contact_id || ' ', 'deal/' || OLD.account_id || '/' || OLD.deal_id || ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    IF TG_OP <> 'DELETE' THEN
        IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat('client/' || NEW.account_id || '/' || NEW.client_id || ' ', 'contact/' || NEW.account_id || '/' || NEW.contact_id || ' ', 'deal/' || NEW.account_id || '/' || NEW.deal_id || ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_collect_new_deal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat('new/' || NEW.account_id || '/' || NEW.id || ' ', 'deal/' || NEW.account_id || '/' || NEW.id || ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_collect_new_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat('new/' || NEW.account_id || '/' || NEW.id || ' ', 'client/' || NEW.account_id || '/' || NEW.client_id || ' ', 'contact/' || NEW.account_id || '/' || NEW.contact_id || ' ', 'deal/' || NEW.account_id || '/' || NEW.deal_id || ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_collect_new_timelineentry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF length(set_config('workspace.changed', concat(current_setting('workspace.changed', true), concat('new/' || NEW.account_id || '/' || NEW.number || ' ', 'client/' || NEW.account_id || '/' || NEW.client_id || ' ', 'contact/' || NEW.account_id || '/' || NEW.contact_id || ' ', 'deal/' || NEW.account_id || '/' || NEW.deal_id || ' ')), true)) > 100000 THEN PERFORM workspace_update_changed(); END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_insert_client_summary() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    
        INSERT INTO workspace_clientsummary (account_id, client_id, last_activity_at, open_sum, won_sum)
        VALUES (NEW.account_id, NEW.id, NEW.created_at, 0, 0) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_insert_contact_summary() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    
        INSERT INTO workspace_contactsummary (account_id, contact_id, client_id, last_activity_at)
        VALUES (NEW.account_id, NEW.id, NEW.client_id, NEW.created_at) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_insert_deal_summary() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    
        INSERT INTO workspace_dealsummary (account_id, deal_id, client_id, contact_id, last_activity_at, outcome, currency, price)
        VALUES (
            NEW.account_id, NEW.id, NEW.client_id, NEW.contact_id, NEW.created_at,
            coalesce((
                SELECT outcome FROM accounts_status WHERE account_id = NEW.account_id AND id = NEW.status_id
            ), 'open'),
            NEW.currency, coalesce(NEW.price, 0)
        ) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_summarize_new_deal() RETURNS trigger LANGUAGE plpgsql AS $$
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
            NEW.account_id, NEW.id, NEW.client_id, NEW.contact_id, NEW.created_at,
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
        NEW.account_id, NULL, NULL, NEW.client_id, NULL, NULL, new_open_sum, new_won_sum
    );
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_summarize_new_post() RETURNS trigger LANGUAGE plpgsql AS $$
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
        NEW.account_id, NEW.deal_id, NEW.contact_id, NEW.client_id, NULL, NEW.scheduled_at, NULL, NULL
    );
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION workspace_summarize_new_timelineentry() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed text := current_setting('workspace.changed', true);
    is_raised boolean;
BEGIN
    IF changed IS DISTINCT FROM concat('new/' || NEW.account_id || '/' || NEW.number || ' ', 'client/' || NEW.account_id || '/' || NEW.client_id || ' ', 'contact/' || NEW.account_id || '/' || NEW.contact_id || ' ', 'deal/' || NEW.account_id || '/' || NEW.deal_id || ' ') THEN
        PERFORM workspace_update_changed();
        RETURN NULL;
    END IF;
    changed := set_config('workspace.changed', '', true);
    is_raised := workspace_raise_summaries(
        NEW.account_id, NEW.deal_id, NEW.contact_id, NEW.client_id, NEW.at, NULL, NULL, NULL
    );
    RETURN NULL;
END $$;

CREATE TRIGGER collect_insert AFTER INSERT ON crm_client FOR EACH ROW WHEN (NOT (NEW.trashed_at IS NULL)) EXECUTE FUNCTION workspace_collect_row('client');
CREATE CONSTRAINT TRIGGER summarize_insert AFTER INSERT ON crm_client DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NOT (NEW.trashed_at IS NULL)) EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER collect_update AFTER UPDATE ON crm_client FOR EACH ROW WHEN ((OLD.trashed_at) IS DISTINCT FROM (NEW.trashed_at)) EXECUTE FUNCTION workspace_collect_row('client');
CREATE CONSTRAINT TRIGGER summarize_update AFTER UPDATE ON crm_client DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((OLD.trashed_at) IS DISTINCT FROM (NEW.trashed_at)) EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER collect_delete AFTER DELETE ON crm_client FOR EACH ROW EXECUTE FUNCTION workspace_collect_row('client');
CREATE CONSTRAINT TRIGGER summarize_delete AFTER DELETE ON crm_client DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER collect_insert AFTER INSERT ON crm_contact FOR EACH ROW WHEN (NOT (NEW.trashed_at IS NULL)) EXECUTE FUNCTION workspace_collect_row('contact');
CREATE CONSTRAINT TRIGGER summarize_insert AFTER INSERT ON crm_contact DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NOT (NEW.trashed_at IS NULL)) EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER collect_update AFTER UPDATE ON crm_contact FOR EACH ROW WHEN ((OLD.trashed_at, OLD.client_id) IS DISTINCT FROM (NEW.trashed_at, NEW.client_id)) EXECUTE FUNCTION workspace_collect_row('contact');
CREATE CONSTRAINT TRIGGER summarize_update AFTER UPDATE ON crm_contact DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((OLD.trashed_at, OLD.client_id) IS DISTINCT FROM (NEW.trashed_at, NEW.client_id)) EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER collect_delete AFTER DELETE ON crm_contact FOR EACH ROW EXECUTE FUNCTION workspace_collect_row('contact');
CREATE CONSTRAINT TRIGGER summarize_delete AFTER DELETE ON crm_contact DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER collect_insert AFTER INSERT ON crm_deal FOR EACH ROW WHEN (NOT (NEW.trashed_at IS NULL AND NEW.client_id IS NULL)) EXECUTE FUNCTION workspace_collect_new_deal();
CREATE CONSTRAINT TRIGGER summarize_insert AFTER INSERT ON crm_deal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NOT (NEW.trashed_at IS NULL AND NEW.client_id IS NULL)) EXECUTE FUNCTION workspace_summarize_new_deal();
CREATE TRIGGER collect_update AFTER UPDATE ON crm_deal FOR EACH ROW WHEN ((OLD.trashed_at, OLD.client_id, OLD.contact_id, OLD.status_id, OLD.currency, OLD.price) IS DISTINCT FROM (NEW.trashed_at, NEW.client_id, NEW.contact_id, NEW.status_id, NEW.currency, NEW.price)) EXECUTE FUNCTION workspace_collect_row('deal');
CREATE CONSTRAINT TRIGGER summarize_update AFTER UPDATE ON crm_deal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((OLD.trashed_at, OLD.client_id, OLD.contact_id, OLD.status_id, OLD.currency, OLD.price) IS DISTINCT FROM (NEW.trashed_at, NEW.client_id, NEW.contact_id, NEW.status_id, NEW.currency, NEW.price)) EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER collect_delete AFTER DELETE ON crm_deal FOR EACH ROW EXECUTE FUNCTION workspace_collect_row('deal');
CREATE CONSTRAINT TRIGGER summarize_delete AFTER DELETE ON crm_deal DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER collect_insert AFTER INSERT ON forum_post FOR EACH ROW WHEN (num_nonnulls(NEW.client_id, NEW.contact_id, NEW.deal_id) > 0 AND ((NEW.category_id IS NULL AND NOT NEW.closed AND NEW.scheduled_at IS NOT NULL))) EXECUTE FUNCTION workspace_collect_new_post();
CREATE CONSTRAINT TRIGGER summarize_insert AFTER INSERT ON forum_post DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (num_nonnulls(NEW.client_id, NEW.contact_id, NEW.deal_id) > 0 AND ((NEW.category_id IS NULL AND NOT NEW.closed AND NEW.scheduled_at IS NOT NULL))) EXECUTE FUNCTION workspace_summarize_new_post();
CREATE TRIGGER collect_update AFTER UPDATE ON forum_post FOR EACH ROW WHEN (num_nonnulls(OLD.client_id, OLD.contact_id, OLD.deal_id, NEW.client_id, NEW.contact_id, NEW.deal_id) > 0 AND ((OLD.category_id IS NULL AND NOT OLD.closed AND OLD.scheduled_at IS NOT NULL) OR (NEW.category_id IS NULL AND NOT NEW.closed AND NEW.scheduled_at IS NOT NULL)) AND (OLD.trashed_at, OLD.category_id, OLD.closed, OLD.scheduled_at, OLD.client_id, OLD.contact_id, OLD.deal_id) IS DISTINCT FROM (NEW.trashed_at, NEW.category_id, NEW.closed, NEW.scheduled_at, NEW.client_id, NEW.contact_id, NEW.deal_id)) EXECUTE FUNCTION workspace_collect_links();
CREATE CONSTRAINT TRIGGER summarize_update AFTER UPDATE ON forum_post DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (num_nonnulls(OLD.client_id, OLD.contact_id, OLD.deal_id, NEW.client_id, NEW.contact_id, NEW.deal_id) > 0 AND ((OLD.category_id IS NULL AND NOT OLD.closed AND OLD.scheduled_at IS NOT NULL) OR (NEW.category_id IS NULL AND NOT NEW.closed AND NEW.scheduled_at IS NOT NULL)) AND (OLD.trashed_at, OLD.category_id, OLD.closed, OLD.scheduled_at, OLD.client_id, OLD.contact_id, OLD.deal_id) IS DISTINCT FROM (NEW.trashed_at, NEW.category_id, NEW.closed, NEW.scheduled_at, NEW.client_id, NEW.contact_id, NEW.deal_id)) EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER collect_delete AFTER DELETE ON forum_post FOR EACH ROW WHEN (num_nonnulls(OLD.client_id, OLD.contact_id, OLD.deal_id) > 0 AND ((OLD.category_id IS NULL AND NOT OLD.closed AND OLD.scheduled_at IS NOT NULL))) EXECUTE FUNCTION workspace_collect_links();
CREATE CONSTRAINT TRIGGER summarize_delete AFTER DELETE ON forum_post DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (num_nonnulls(OLD.client_id, OLD.contact_id, OLD.deal_id) > 0 AND ((OLD.category_id IS NULL AND NOT OLD.closed AND OLD.scheduled_at IS NOT NULL))) EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER collect_insert AFTER INSERT ON workspace_timelineentry FOR EACH ROW WHEN (num_nonnulls(NEW.client_id, NEW.contact_id, NEW.deal_id) > 0 AND ((NEW.kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')))) EXECUTE FUNCTION workspace_collect_new_timelineentry();
CREATE CONSTRAINT TRIGGER summarize_insert AFTER INSERT ON workspace_timelineentry DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (num_nonnulls(NEW.client_id, NEW.contact_id, NEW.deal_id) > 0 AND ((NEW.kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')))) EXECUTE FUNCTION workspace_summarize_new_timelineentry();
CREATE TRIGGER collect_update AFTER UPDATE ON workspace_timelineentry FOR EACH ROW WHEN (num_nonnulls(OLD.client_id, OLD.contact_id, OLD.deal_id, NEW.client_id, NEW.contact_id, NEW.deal_id) > 0 AND ((OLD.kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')) OR (NEW.kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message'))) AND (OLD.at, OLD.client_id, OLD.contact_id, OLD.deal_id) IS DISTINCT FROM (NEW.at, NEW.client_id, NEW.contact_id, NEW.deal_id)) EXECUTE FUNCTION workspace_collect_links();
CREATE CONSTRAINT TRIGGER summarize_update AFTER UPDATE ON workspace_timelineentry DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (num_nonnulls(OLD.client_id, OLD.contact_id, OLD.deal_id, NEW.client_id, NEW.contact_id, NEW.deal_id) > 0 AND ((OLD.kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')) OR (NEW.kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message'))) AND (OLD.at, OLD.client_id, OLD.contact_id, OLD.deal_id) IS DISTINCT FROM (NEW.at, NEW.client_id, NEW.contact_id, NEW.deal_id)) EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER collect_delete AFTER DELETE ON workspace_timelineentry FOR EACH ROW WHEN (num_nonnulls(OLD.client_id, OLD.contact_id, OLD.deal_id) > 0 AND ((OLD.kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')))) EXECUTE FUNCTION workspace_collect_links();
CREATE CONSTRAINT TRIGGER summarize_delete AFTER DELETE ON workspace_timelineentry DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (num_nonnulls(OLD.client_id, OLD.contact_id, OLD.deal_id) > 0 AND ((OLD.kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')))) EXECUTE FUNCTION workspace_update_at_commit();
CREATE TRIGGER insert_summary AFTER INSERT ON crm_client FOR EACH ROW WHEN (NEW.trashed_at IS NULL) EXECUTE FUNCTION workspace_insert_client_summary();
CREATE TRIGGER insert_summary AFTER INSERT ON crm_contact FOR EACH ROW WHEN (NEW.trashed_at IS NULL) EXECUTE FUNCTION workspace_insert_contact_summary();
CREATE TRIGGER insert_summary AFTER INSERT ON crm_deal FOR EACH ROW WHEN (NEW.trashed_at IS NULL AND NEW.client_id IS NULL) EXECUTE FUNCTION workspace_insert_deal_summary();
