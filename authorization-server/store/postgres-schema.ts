import type { Client } from 'pg'

type Migration = {
  readonly up: string
  /** Reverses `up`. The database keeps this text, so that an operator can run this text with psql. */
  readonly undo: string
}

/**
 * All schema versions in order. A new version appends one entry. Never edit an existing entry.
 * Servers of two versions can share the database: a changed function gets a new name.
 *
 * Expiry, positions and times of revocations use the clock of PostgreSQL, because the clocks of the servers may differ.
 */
const MIGRATIONS: readonly Migration[] = [
  {
    up: `
    create table scopegate.artifacts (
      model text not null,
      id text not null,
      payload text not null, -- JSON. Not jsonb, which rejects the character U+0000.
      grant_id text,
      uid text,
      user_code text,
      account_id text,
      consumed_at bigint,
      expires_at timestamptz,
      network text,
      address text,
      number bigint generated always as identity, -- the age: a second write keeps it
      primary key (model, id)
    );
    create index artifacts_by_grant on scopegate.artifacts (grant_id) where grant_id is not null;
    create index artifacts_by_uid on scopegate.artifacts (model, uid) where uid is not null;
    create index artifacts_by_user_code on scopegate.artifacts (model, user_code) where user_code is not null;
    create index artifacts_by_account on scopegate.artifacts (account_id) where account_id is not null;
    create index artifacts_by_expiry on scopegate.artifacts (expires_at) where expires_at is not null;
    create index artifacts_by_network on scopegate.artifacts (model, network, address) where network is not null;
    create index artifacts_by_address on scopegate.artifacts (model, address, number) where address is not null;

    create table scopegate.accounts (
      id text primary key,
      username text not null unique,
      name text not null,
      email text,
      password_hash text not null,
      origin text not null check (origin in ('operator', 'development')),
      created_at bigint not null
    );

    create table scopegate.revocations (
      position bigint primary key,
      revoked_at timestamptz not null default now(),
      payload text not null
    );
    create table scopegate.revocation_log (
      single boolean primary key default true check (single),
      epoch text not null,
      position bigint not null
    );
    insert into scopegate.revocation_log (epoch, position) values (replace(gen_random_uuid()::text, '-', ''), 0);

    -- The lock of the one row lasts until the commit. Positions therefore have no gaps, and become visible in order.
    create function scopegate.log_revocation(entry text) returns void language plpgsql as $$
    declare
      next_position bigint;
    begin
      update scopegate.revocation_log set position = position + 1 returning position into next_position;
      insert into scopegate.revocations (position, payload) values (next_position, entry);
      perform pg_notify('scopegate.revocations', '');
    end $$;

    -- A concurrent exchange waits for the row of its token, or this function waits for the exchange. In the second case
    -- the next pass, with a new snapshot, deletes the artifacts that the exchange wrote.
    create function scopegate.revoke_grant(revoked text, entry text) returns bigint language plpgsql as $$
    declare
      removed bigint := 0;
      pass bigint;
    begin
      loop
        delete from scopegate.artifacts where grant_id = revoked;
        get diagnostics pass = row_count;
        exit when pass = 0;
        removed := removed + pass;
      end loop;
      if removed > 0 then
        perform scopegate.log_revocation(entry);
      end if;
      return removed;
    end $$;

    create function scopegate.remove_account(removed text, entry text) returns void language plpgsql as $$
    declare
      pass bigint;
    begin
      loop
        delete from scopegate.artifacts where account_id = removed;
        get diagnostics pass = row_count;
        exit when pass = 0;
      end loop;
      delete from scopegate.accounts where id = removed;
      if found then
        perform scopegate.log_revocation(entry);
      end if;
    end $$;

    -- Evicts as upsertBounded() of the store contract specifies. One call runs at a time for each model.
    create function scopegate.evict(of_model text, of_addresses text[], per_address bigint, total bigint)
      returns void language plpgsql as $$
    declare
      surplus bigint;
    begin
      perform pg_advisory_xact_lock(hashtext('scopegate.evict'), hashtext(of_model));
      delete from scopegate.artifacts
        where model = of_model and network is not null and expires_at <= now();
      delete from scopegate.artifacts where model = of_model and id in (
        select id from (
          select id, row_number() over (partition by address order by number desc) as place
          from scopegate.artifacts where model = of_model and address = any(of_addresses)) newest
        where place > per_address);
      select count(*) - total into surplus from scopegate.artifacts where model = of_model and network is not null;
      if surplus <= 0 then
        return;
      end if;
      -- Each step takes the largest group. A group of n loses its members at the heights n, n - 1, ..., 2. The steps are
      -- therefore the greatest heights of all groups.
      with candidates as (
        select network from scopegate.artifacts where model = of_model and network is not null
        group by network having count(*) > 1 order by count(*) desc, network desc limit surplus
      ), bounded as (
        select id, network, address, number,
          row_number() over (partition by network order by number) as network_height,
          row_number() over (partition by network, address order by number) as address_height
        from scopegate.artifacts join candidates using (network) where model = of_model
      ), of_networks as (
        select network, count(*) as wanted from (
          select network from bounded where network_height > 1
          order by network_height desc, network desc limit surplus) steps
        group by network
      ), of_addresses as (
        select network, address, count(*) as wanted from (
          select network, address, of_networks.wanted,
            row_number() over (partition by network order by address_height desc, address desc) as step
          from bounded join of_networks using (network) where address_height > 1) steps
        where step <= wanted group by network, address
      ), of_large_addresses as (
        select id, network from bounded join of_addresses using (network, address) where address_height <= wanted
      ), of_large_networks as (
        select id from (
          select id, wanted - (select count(*) from of_large_addresses large where large.network = bounded.network) as rest,
            row_number() over (partition by network order by number) as age
          from bounded join of_networks using (network)
          where id not in (select id from of_large_addresses)) remaining
        where age <= rest
      ), chosen as (
        select id from of_large_addresses union all select id from of_large_networks
      )
      delete from scopegate.artifacts where model = of_model and id in (
        select id from chosen union all (
          select id from scopegate.artifacts
          where model = of_model and network is not null and id not in (select id from chosen)
          order by expires_at, number limit surplus - (select count(*) from chosen)));
    end $$;
    `,
    undo: `
    drop table scopegate.artifacts, scopegate.accounts, scopegate.revocations, scopegate.revocation_log;
    drop function scopegate.log_revocation, scopegate.revoke_grant, scopegate.remove_account, scopegate.evict;
    `,
  },
  {
    up: `
    alter table scopegate.accounts
      alter column password_hash drop not null,
      drop constraint accounts_origin_check,
      add constraint accounts_origin_check check (origin in ('operator', 'development', 'provider')),
      add column identity_issuer text,
      add column identity_subject text,
      add column disabled_at bigint,
      add column claims text, -- JSON, see account-record.ts
      add constraint accounts_identity unique (identity_issuer, identity_subject);

    create function scopegate.disable_account(disabled text, at_seconds bigint, entry text)
      returns void language plpgsql as $$
    declare
      pass bigint;
    begin
      update scopegate.accounts set disabled_at = at_seconds where id = disabled;
      if not found then
        return;
      end if;
      loop
        delete from scopegate.artifacts where account_id = disabled;
        get diagnostics pass = row_count;
        exit when pass = 0;
      end loop;
      perform scopegate.log_revocation(entry);
    end $$;
    `,
    undo: `
    drop function scopegate.disable_account;
    delete from scopegate.artifacts where account_id in
      (select id from scopegate.accounts where origin = 'provider' or disabled_at is not null);
    delete from scopegate.accounts
      where origin = 'provider' or disabled_at is not null or password_hash is null;
    alter table scopegate.accounts
      drop constraint accounts_identity,
      drop column identity_issuer,
      drop column identity_subject,
      drop column disabled_at,
      drop column claims,
      drop constraint accounts_origin_check,
      add constraint accounts_origin_check check (origin in ('operator', 'development')),
      alter column password_hash set not null;
    `,
  },
  {
    up: `
    create table scopegate.attempt_counters (
      id text primary key,
      number bigint generated always as identity unique,
      attempts bigint not null default 1,
      is_rejected boolean not null default false,
      ends_at timestamptz not null
    );

    -- Counts as add() of the store contract specifies. Returns whether the attempt is counted. The lock serializes the
    -- calls that share counters.
    create function scopegate.count_attempt(ids text[], limits bigint[], seconds double precision, total bigint)
      returns boolean language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(hashtext('scopegate.count_attempt'), hashtext(ids[cardinality(ids)]));
      if exists (select from scopegate.attempt_counters counter join unnest(ids, limits) as given (id, maximum) using (id)
          where ends_at > now() and attempts >= maximum) then
        return false;
      end if;
      for place in 1..cardinality(ids) loop
        update scopegate.attempt_counters set attempts = attempts + 1 where id = ids[place] and ends_at > now();
        if not found then
          delete from scopegate.attempt_counters where id = ids[place];
          insert into scopegate.attempt_counters (id, ends_at) values (ids[place], now() + make_interval(secs => seconds));
        end if;
      end loop;
      delete from scopegate.attempt_counters where number in (
        select number from scopegate.attempt_counters
        where number <= (select max(number) from scopegate.attempt_counters) - total
        for update skip locked);
      return true;
    end $$;
    `,
    undo: `
    drop function scopegate.count_attempt;
    drop table scopegate.attempt_counters;
    `,
  },
  {
    up: `
    alter table scopegate.accounts add column second_factor text; -- JSON, see accounts/second-factors.ts
    `,
    undo: `
    alter table scopegate.accounts drop column second_factor;
    `,
  },
]

export const POSTGRES_SCHEMA_VERSION = MIGRATIONS.length

/** Key of the advisory lock of a migration: the bytes of `scopegat`. */
const LOCK_KEY = '8314611865584361844'

/**
 * Migrates the database to the newest version. Each version is one transaction under an advisory lock, so that several
 * servers can start concurrently.
 * @returns the version before the migration. The function does not change a database with a newer version.
 */
export async function migratePostgres(
  client: Pick<Client, 'query'>,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<number> {
  const found = await readVersion(client)
  for (let version = found; version < migrations.length; ) {
    await client.query('begin')
    try {
      await client.query('select pg_advisory_xact_lock($1)', [LOCK_KEY])
      version = await readVersion(client)
      const next = migrations[version]
      if (next !== undefined) {
        if (version === 0) await createSchema(client)
        await client.query(next.up)
        version += 1
        const undo = `${next.undo}; delete from scopegate.schema_versions where version = ${version}`
        await client.query('insert into scopegate.schema_versions (version, undo) values ($1, $2)', [
          version,
          undo,
        ])
      }
      await client.query('commit')
    } catch (error) {
      await client.query('rollback').catch(() => undefined)
      throw error
    }
  }
  return found
}

/**
 * Creates the schema and its table of versions if they do not exist. An operator may have created the schema, because
 * the database user may lack the right to create a schema.
 */
async function createSchema(client: Pick<Client, 'query'>): Promise<void> {
  const { rowCount } = await client.query("select from pg_namespace where nspname = 'scopegate'")
  if (rowCount === 0) await client.query('create schema scopegate')
  await client.query(`create table if not exists scopegate.schema_versions (
    version integer primary key,
    applied_at timestamptz not null default now(),
    undo text not null
  )`)
}

async function readVersion(client: Pick<Client, 'query'>): Promise<number> {
  // This query does not use to_regclass(). Within a transaction, to_regclass() does not see tables of transactions that
  // committed later.
  const { rowCount } = await client.query(
    "select from pg_tables where schemaname = 'scopegate' and tablename = 'schema_versions'",
  )
  if (rowCount === 0) return 0
  const newest = await client.query(
    'select coalesce(max(version), 0) as version from scopegate.schema_versions',
  )
  return Number(newest.rows[0]?.version)
}
