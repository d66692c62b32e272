import type { DatabaseSync } from 'node:sqlite'

/**
 * All schema versions in order. `PRAGMA user_version` is the number of applied versions. A new version appends one
 * entry. Never edit an existing entry.
 */
const MIGRATIONS: readonly string[] = [
  `
  create table artifacts (
    model text not null,
    id text not null,
    payload text not null,
    grant_id text,
    uid text,
    user_code text,
    account_id text,
    consumed_at integer,
    expires_at integer,
    primary key (model, id)
  ) strict;
  create index artifacts_by_grant on artifacts (grant_id) where grant_id is not null;
  create index artifacts_by_uid on artifacts (model, uid) where uid is not null;
  create index artifacts_by_user_code on artifacts (model, user_code) where user_code is not null;
  create index artifacts_by_account on artifacts (account_id) where account_id is not null;
  create index artifacts_by_expiry on artifacts (expires_at) where expires_at is not null;
  create table accounts (
    id text primary key,
    username text not null unique,
    name text not null,
    email text,
    password_hash text not null,
    origin text not null check (origin in ('operator', 'development')),
    created_at integer not null
  ) strict;
  `,
  `
  create table revocations (
    id integer primary key autoincrement,
    revoked_at integer not null,
    payload text not null
  ) strict;
  create table revocation_epoch (epoch text not null) strict;
  insert into revocation_epoch values (lower(hex(randomblob(8))));
  `,
  `
  alter table artifacts add column source text;
  create index artifacts_by_source on artifacts (model, source) where source is not null;
  create index bounded_artifacts_by_expiry on artifacts (model, expires_at) where source is not null;
  -- Number of bounded artifacts of each source; the source '' holds the number of all.
  create table artifact_counts (
    model text not null,
    source text not null,
    held integer not null,
    primary key (model, source)
  ) strict, without rowid;
  create index artifact_counts_by_held on artifact_counts (model, held) where source <> '';
  create trigger count_bounded_artifact after insert on artifacts when new.source is not null begin
    insert into artifact_counts values (new.model, new.source, 1), (new.model, '', 1)
      on conflict do update set held = held + 1;
  end;
  create trigger uncount_bounded_artifact after delete on artifacts when old.source is not null begin
    update artifact_counts set held = held - 1 where model = old.model and source in (old.source, '');
    delete from artifact_counts where model = old.model and source = old.source and held <= 0;
  end;
  `,
  `
  -- From here on, source is the network of the client, and address is its part of the network.
  alter table artifacts add column address text;
  create index artifacts_by_address on artifacts (model, address) where address is not null;
  `,
  `
  -- Number of bounded artifacts of each address of a network.
  create table address_counts (
    model text not null,
    network text not null,
    address text not null,
    held integer not null,
    primary key (model, network, address)
  ) strict, without rowid;
  create index address_counts_by_held on address_counts (model, network, held);
  insert into address_counts select model, source, address, count(*) from artifacts
    where source is not null and address is not null group by model, source, address;
  create trigger count_artifact_of_address after insert on artifacts
    when new.source is not null and new.address is not null begin
    insert into address_counts values (new.model, new.source, new.address, 1) on conflict do update set held = held + 1;
  end;
  create trigger uncount_artifact_of_address after delete on artifacts
    when old.source is not null and old.address is not null begin
    update address_counts set held = held - 1
      where model = old.model and network = old.source and address = old.address;
    delete from address_counts
      where model = old.model and network = old.source and address = old.address and held <= 0;
  end;
  `,
  `
  create table new_accounts (
    id text primary key,
    username text not null unique,
    name text not null,
    email text,
    password_hash text,
    origin text not null check (origin in ('operator', 'development', 'provider')),
    created_at integer not null,
    identity_issuer text,
    identity_subject text,
    disabled_at integer,
    claims text, -- JSON, see account-record.ts
    unique (identity_issuer, identity_subject)
  ) strict;
  insert into new_accounts (id, username, name, email, password_hash, origin, created_at)
    select id, username, name, email, password_hash, origin, created_at from accounts;
  drop table accounts;
  alter table new_accounts rename to accounts;
  `,
  `
  create table attempt_counters (
    number integer primary key, -- increases with each new counter, so the oldest counter has the smallest number
    id text not null unique,
    attempts integer not null default 1,
    is_rejected integer not null default 0,
    ends_at integer not null
  ) strict;
  `,
  `
  alter table accounts add column second_factor text; -- JSON, see accounts/second-factors.ts
  `,
]

export const SCHEMA_VERSION = MIGRATIONS.length

/**
 * Migrates the file to {@link SCHEMA_VERSION} in one transaction, so that several processes can start concurrently.
 * @returns the version before the migration. The function does not change a file with a version above {@link
 * SCHEMA_VERSION}.
 */
export function migrate(database: DatabaseSync): number {
  database.exec('begin immediate')
  try {
    const found = Number(database.prepare('pragma user_version').get()?.['user_version'] ?? 0)
    for (const migration of MIGRATIONS.slice(found)) database.exec(migration)
    if (found < SCHEMA_VERSION) database.exec(`pragma user_version = ${SCHEMA_VERSION}`)
    database.exec('commit')
    return found
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}
