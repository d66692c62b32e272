import { DrainSchema } from '../platform/config/drain-schema.ts'
import { ListenAddress, PrivateConsoleAddress } from '../platform/config/listen-address.ts'
import { Type } from '../platform/diagnostics/schema/schema-builder.ts'
import {
  ByteSizeText,
  DurationText,
  FilePath,
  HttpAddress,
  HttpOrigin,
  ResourcePath,
  SecretText,
  TimeoutText,
} from '../platform/diagnostics/schema/value-schemas.ts'
import { LOG_KEYS } from '../platform/logging/log-schema.ts'
import { RedisConnectionSchema } from '../platform/redis/redis-connection.ts'
import { TracingSchema } from '../platform/tracing/tracing-schema.ts'

const RegisteredIntegration = Type.Object(
  {
    clientId: Type.String({ description: 'client_id', minLength: 1, maxLength: 100 }),
    clientName: Type.String({
      description: 'name of the client; the consent page marks the client as verified',
      minLength: 1,
      maxLength: 100,
    }),
    redirectUris: Type.Array(
      Type.String({
        description: 'a fixed redirect URI',
        pattern: '^https://[^\\s#]+$',
        'x-is': 'an https address without fragment',
      }),
      { description: 'redirect URIs of the client', minItems: 1 },
    ),
    postLogoutRedirectUris: Type.Optional(
      Type.Array(
        Type.String({
          description: 'a fixed redirect URI',
          pattern: '^https://[^\\s#]+$',
          'x-is': 'an https address without fragment',
        }),
        { description: 'addresses to which the server redirects the browser after sign-out' },
      ),
    ),
    clientSecretFile: Type.Optional(
      FilePath('file with the accepted secrets, one per line; without this file, the client is public'),
    ),
    trusted: Type.Optional(
      Type.Boolean({
        description: 'true: a client of the operator; its authorizations show no consent page',
      }),
    ),
  },
  { description: 'a registered integration' },
)

const Canary = Type.Object(
  {
    clientId: Type.Optional(
      Type.String({ description: 'client_id of the canary; default: canary', minLength: 1, maxLength: 100 }),
    ),
    clientSecretFile: FilePath('file with the accepted secrets of the canary, one per line, newest first'),
    scopes: Type.Array(
      Type.String({ description: 'a scope that only reads', minLength: 1, maxLength: 256 }),
      {
        description: 'scopes of each token; no other scope is possible',
        minItems: 1,
        maxItems: 50,
        uniqueItems: true,
      },
    ),
    resource: Type.Optional(ResourcePath('a path of protectedResources, or / (default)')),
  },
  {
    description:
      'the client of the command scopegate canary; without this key, no client can use client credentials',
  },
)

const Lifetimes = Type.Object(
  {
    code: Type.Optional(DurationText('lifetime of authorization codes')),
    accessToken: Type.Optional(DurationText('lifetime of access tokens')),
    refreshToken: Type.Optional(DurationText('lifetime of refresh tokens after their last use')),
    refreshTokenMax: Type.Optional(DurationText('maximum lifetime of refresh tokens after the consent')),
    session: Type.Optional(DurationText('lifetime of sign-in sessions')),
  },
  { description: 'lifetimes of codes, tokens and sessions' },
)

const AccessTokenFormat = Type.Enum(['opaque', 'jwt'], {
  description: 'opaque (gateways validate it by introspection) or jwt (gateways verify its signature)',
})

const AccessTokens = Type.Object(
  {
    format: Type.Optional(AccessTokenFormat),
    algorithm: Type.Optional(
      Type.Enum(['ES256', 'EdDSA'], { description: 'signature algorithm of JWTs: ES256 or EdDSA' }),
    ),
    resources: Type.Optional(
      Type.Array(
        Type.Object(
          { path: ResourcePath('a path of protectedResources, or /'), format: AccessTokenFormat },
          { description: 'the token format of one resource' },
        ),
        { description: 'token formats of single resources', maxItems: 1_000 },
      ),
    ),
  },
  { description: 'format of access tokens; with jwt, gateways can verify tokens without introspection' },
)

const RefreshTokens = Type.Object(
  {
    repeatWindow: Type.Optional(
      Type.String({
        description:
          'time in which a repeated refresh request gets the same response; 0s: a repeated request ends the grant',
        pattern: '^((\\d|[1-9]\\d|[12]\\d\\d|300)s|[1-5]m)$',
        'x-is': 'a duration of whole seconds such as 30s or 2m, at most 5m',
      }),
    ),
  },
  { description: 'use of refresh tokens' },
)

const Registration = Type.Object(
  {
    redirectUris: Type.Optional(
      Type.Object(
        {
          loopback: Type.Array(
            Type.Enum(['127.0.0.1', 'localhost', '[::1]'], {
              description: '127.0.0.1, localhost or [::1]',
            }),
            {
              description: 'loopback hosts that every client may register in http redirect URIs',
              minItems: 1,
            },
          ),
        },
        { description: 'redirect URIs that clients may register' },
      ),
    ),
    bodyLimit: Type.Optional(ByteSizeText('largest registration request')),
    clientDocuments: Type.Optional(
      Type.Object(
        {
          domains: Type.Array(
            Type.String({
              description: 'a host of client documents, with a port if it is not 443',
              maxLength: 260,
              pattern:
                '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?(?::(?!443$)[1-9][0-9]{1,4})?$',
              'x-is':
                'a host name in lower case such as claude.ai, without https:// and without a path; omit port 443',
            }),
            {
              description: 'hosts of client documents; empty: the server accepts no URL as client_id',
              maxItems: 100,
              uniqueItems: true,
            },
          ),
        },
        { description: 'Client ID Metadata Documents: registration of hosted agents' },
      ),
    ),
    unusedClients: Type.Optional(DurationText('age at which a registered client without a grant expires')),
    rateLimit: Type.Optional(
      Type.Object(
        {
          perAddress: Type.Integer({
            description: 'maximum number of registrations per address in a window',
            minimum: 1,
          }),
          window: DurationText('length of the window'),
        },
        { description: 'rate limit of client registrations' },
      ),
    ),
  },
  { description: 'dynamic client registration' },
)

const Authorization = Type.Object(
  {
    rateLimit: Type.Optional(
      Type.Object(
        {
          perAddress: Type.Integer({
            description: 'maximum number of authorization requests per address in a window',
            minimum: 1,
          }),
          window: DurationText('length of the window'),
        },
        { description: 'rate limit of authorization requests' },
      ),
    ),
    pending: Type.Optional(
      Type.Object(
        {
          perAddress: Type.Integer({
            description: 'maximum number of unfinished authorization requests of one address',
            minimum: 1,
          }),
          total: Type.Integer({
            description: 'maximum number of unfinished authorization requests of all addresses',
            minimum: 1,
          }),
        },
        {
          description:
            'limits for stored authorization requests; above a limit, the server evicts old requests',
        },
      ),
    ),
  },
  { description: 'authorization requests and pushed authorization requests' },
)

const Consent = Type.Object(
  {
    remember: Type.Optional(
      DurationText(
        'time in which the server does not ask a person again for the same access; 0s: the server asks at each authorization',
      ),
    ),
    rememberLocalApps: Type.Optional(
      Type.Boolean({
        description:
          'true: the server also remembers consents for apps on the device of the person; RFC 8252 section 8.6',
      }),
    ),
  },
  { description: 'the consent of people' },
)

const Color = (description: string) =>
  Type.Optional(Type.String({ description, pattern: '^#[0-9A-Fa-f]{6}$', 'x-is': 'a color such as #2450c8' }))

const SchemeColors = (description: string) =>
  Type.Optional(
    Type.Object(
      {
        accent: Color('color of buttons and links'),
        background: Color('background of the pages'),
        text: Color('color of the text'),
      },
      { description },
    ),
  )

const PageLink = (description: string) =>
  Type.Optional(
    Type.String({
      description,
      maxLength: 2048,
      pattern: '^https://[^\\s"<>]+$',
      format: 'url',
      'x-is': 'a URL such as https://example.com/help',
    }),
  )

const LookShape = Type.Object(
  {
    logo: Type.Optional(FilePath('logo above the name: a PNG or SVG image of at most 64 KiB')),
    colors: Type.Optional(
      Type.Object(
        {
          light: SchemeColors('colors of the light color scheme'),
          dark: SchemeColors('colors of the dark color scheme'),
        },
        { description: 'colors of the pages; the contrast must be at least 4.5:1' },
      ),
    ),
    css: Type.Optional(
      FilePath(
        'CSS file of at most 32 KiB, which adds to the stylesheet of the pages; url() and @import are not allowed',
      ),
    ),
    links: Type.Optional(
      Type.Object(
        {
          help: PageLink('help page'),
          terms: PageLink('terms of service'),
          privacy: PageLink('privacy policy'),
        },
        { description: 'links below each page' },
      ),
    ),
  },
  { description: 'the look of the sign-in and consent pages' },
)

const CompatShape = Type.Object(
  {
    defaultScope: Type.Optional(
      Type.String({ description: 'scopes of an authorization request without scope', minLength: 1 }),
    ),
    optionalState: Type.Optional(
      Type.Boolean({ description: 'true: authorization requests may omit state' }),
    ),
    loopbackRedirects: Type.Optional(
      Type.Boolean({ description: 'true: redirect URIs may name localhost and may omit the port' }),
    ),
  },
  { description: 'relaxations for clients that do not follow the service interface' },
)

const Postgres = Type.Object(
  {
    url: SecretText('postgres://user@host:5432/database'),
    passwordFile: Type.Optional(
      FilePath('file with the password of the user; the server reads the file at each new connection'),
    ),
    caFile: Type.Optional(
      FilePath(
        'PEM file with the CA certificates of PostgreSQL; enables TLS with verification of the certificate',
      ),
    ),
    certFile: Type.Optional(
      FilePath('PEM file with the client certificate; enables TLS like caFile; requires keyFile'),
    ),
    keyFile: Type.Optional(FilePath('PEM file with the key of the client certificate')),
    pool: Type.Optional(
      Type.Object(
        {
          max: Type.Optional(
            Type.Integer({
              description: 'maximum number of connections that one server uses for requests; default 10',
              minimum: 1,
              maximum: 1_000,
            }),
          ),
          connectTimeout: Type.Optional(TimeoutText('longest wait for a new or free connection; default 2s')),
          statementTimeout: Type.Optional(TimeoutText('longest time of a statement; default 2s')),
        },
        { description: 'connections to PostgreSQL' },
      ),
    ),
  },
  { description: 'only for store.type: postgres' },
)

const ClaimName = (description: string) => Type.String({ description, minLength: 1, maxLength: 200 })

const SignInProvider = Type.Object(
  {
    name: Type.String({
      description: 'name of the provider, which is part of its redirect URI',
      pattern: '^[a-z0-9-]{1,32}$',
      'x-is': 'a name of 1 to 32 lower-case letters, digits and -, such as company',
    }),
    title: Type.String({
      description: 'name of the provider on the sign-in page',
      minLength: 1,
      maxLength: 60,
    }),
    issuer: HttpAddress('issuer of the provider, exactly as in its metadata'),
    clientId: Type.String({ description: 'client_id of this server', minLength: 1, maxLength: 255 }),
    clientSecretFile: FilePath('file with the client secrets of this server, one per line, newest first'),
    scopes: Type.Optional(
      Type.Array(Type.String({ description: 'a scope', pattern: '^[!#-\\[\\]-~]+$', 'x-is': 'a scope' }), {
        description: 'requested scopes; default: openid, profile and email',
        minItems: 1,
        maxItems: 50,
        uniqueItems: true,
      }),
    ),
    claims: Type.Optional(
      Type.Object(
        {
          name: Type.Optional(ClaimName('claim with the name of the person; default: name')),
          email: Type.Optional(
            ClaimName('claim with the e-mail address; default: email, if email_verified is true'),
          ),
          groups: Type.Optional(ClaimName('claim with the groups of the person; default: none')),
          roles: Type.Optional(ClaimName('claim with the roles of the person; default: none')),
        },
        { description: 'claims of the provider, by name or by a path such as realm_access.roles' },
      ),
    ),
    admit: Type.Optional(
      Type.Object(
        {
          emailDomains: Type.Optional(
            Type.Array(
              Type.String({
                description: 'a domain',
                pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)*$',
                'x-is': 'a domain in lower case, such as example.com',
              }),
              {
                description:
                  'accepted domains of the e-mail address; the provider must have verified the address',
                minItems: 1,
                maxItems: 1_000,
              },
            ),
          ),
          groups: Type.Optional(
            Type.Array(Type.String({ description: 'a group', minLength: 1, maxLength: 256 }), {
              description: 'the person must be in at least one of these groups',
              minItems: 1,
              maxItems: 1_000,
            }),
          ),
          claims: Type.Optional(
            Type.Record(
              Type.String({ pattern: '^.{1,200}$' }),
              Type.Array(Type.String({ description: 'a value', minLength: 1, maxLength: 256 }), {
                description: 'the claim must have at least one of these values',
                minItems: 1,
                maxItems: 1_000,
              }),
              { description: 'required claims, each with its accepted values' },
            ),
          ),
        },
        { description: 'rules of admission; a person must satisfy every rule' },
      ),
    ),
  },
  { description: 'an OpenID provider' },
)

const SignIn = Type.Object(
  {
    local: Type.Optional(
      Type.Boolean({ description: 'whether people can sign in with a user name and password' }),
    ),
    providers: Type.Optional(
      Type.Array(SignInProvider, { description: 'OpenID providers for sign-in', maxItems: 20 }),
    ),
    secondFactor: Type.Optional(
      Type.Object(
        {
          mode: Type.Enum(['off', 'optional', 'required'], {
            description:
              'off, optional or required: whether local accounts need a code of an authenticator app after the password',
          }),
          acr: Type.Optional(
            Type.String({
              description: 'acr of a sign-in with both factors; default https://refeds.org/profile/mfa',
              maxLength: 200,
              pattern: '^[!#-\\[\\]-~]+$',
              'x-is': 'a value without spaces, such as https://refeds.org/profile/mfa',
            }),
          ),
        },
        { description: 'the second factor of local accounts' },
      ),
    ),
  },
  { description: 'how people sign in' },
)

export const AuthorizationServerFile = Type.Object(
  {
    issuer: HttpOrigin('the public URL of the service, which every token and metadata document contains'),
    name: Type.String({ description: "the service's name on the pages", minLength: 1, maxLength: 100 }),
    listen: ListenAddress('address of the HTTP listener'),
    management: PrivateConsoleAddress,
    scopes: FilePath('the scope catalogue'),
    protectedResources: Type.Optional(
      Type.Array(ResourcePath('a path below the public URL'), {
        description: 'resources for which the server issues tokens, besides the API itself',
        maxItems: 1_000,
        uniqueItems: true,
      }),
    ),
    dataDir: FilePath('folder of the SQLite file and the generated keys'),
    store: Type.Object(
      {
        type: Type.Enum(['sqlite', 'redis', 'postgres'], {
          description: 'kind of the store: sqlite (for one server), redis or postgres',
        }),
      },
      { description: 'the store of clients, grants and tokens' },
    ),
    redis: Type.Optional(RedisConnectionSchema('only for store.type: redis')),
    postgres: Type.Optional(Postgres),
    signingKeysFile: Type.Optional(
      FilePath('JSON Web Key Set with private keys; without this file, the server generates keys in dataDir'),
    ),
    cookieKeysFile: Type.Optional(
      FilePath(
        'cookie keys, one per line, newest first; without this file, the server generates a key in dataDir',
      ),
    ),
    gatewayClient: Type.Object(
      {
        id: Type.String({ description: "the gateway's client_id", minLength: 1, maxLength: 100 }),
        secretFile: FilePath(
          "file with the gateway's client_secret: accepted secrets, one per line, newest first",
        ),
      },
      { description: 'the client for introspection and the revocation stream' },
    ),
    development: Type.Optional(
      Type.Boolean({ description: 'true: alice/alice and bob/bob can sign in. Never in production' }),
    ),
    drain: Type.Optional(DrainSchema),
    lifetimes: Type.Optional(Lifetimes),
    accessTokens: Type.Optional(AccessTokens),
    refreshTokens: Type.Optional(RefreshTokens),
    registration: Type.Optional(Registration),
    authorization: Type.Optional(Authorization),
    consent: Type.Optional(Consent),
    look: Type.Optional(LookShape),
    compat: Type.Optional(CompatShape),
    signIn: Type.Optional(SignIn),
    integrations: Type.Optional(
      Type.Array(RegisteredIntegration, { description: 'clients that the operator configures' }),
    ),
    canary: Type.Optional(Canary),
    log: Type.Optional(Type.Object(LOG_KEYS, { description: 'the log on standard output' })),
    tracing: Type.Optional(
      TracingSchema(
        ['always', 'never'],
        'whether the server continues the trace of its caller, which is the gateway: always (default) or never',
      ),
    ),
  },
  { description: 'config/authorization-server.yaml' },
)
