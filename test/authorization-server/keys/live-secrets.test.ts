import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t from 'tap'
import { matchesAnySecret } from '../../../authorization-server/engine/client-secret.ts'
import { followSecrets } from '../../../authorization-server/keys/live-secrets.ts'
import { loadSecrets } from '../../../authorization-server/keys/load-secrets.ts'
import { openSecretFiles } from '../../../platform/config/secret-files.ts'
import { aConfig } from '../../fixtures/start-authorization-server.ts'

const OLD = 'the old secret of the gateway'
const NEW = 'the new secret of the gateway'

t.test('the server uses changed files of client secrets and cookie keys without a restart', async (t) => {
  const dataDir = t.testdir({
    gateway: `${OLD}\n`,
    app: 'of the app',
    canary: 'a secret of the canary',
    cookies: 'o'.repeat(32),
  })
  const config = await aConfig(dataDir, {
    development: false,
    gatewayClient: { id: 'gateway', secretFile: join(dataDir, 'gateway') },
    cookieKeysFile: join(dataDir, 'cookies'),
    canary: {
      clientId: 'canary',
      clientSecretFile: join(dataDir, 'canary'),
      scopes: ['courses:read'],
      resource: 'http://127.0.0.1:8080',
    },
    integrations: [
      {
        clientId: 'app',
        clientName: 'App',
        redirectUris: ['https://app.test/'],
        clientSecretFile: join(dataDir, 'app'),
      },
      { clientId: 'public', clientName: 'P', redirectUris: ['https://p.test/'], clientSecretFile: undefined },
    ],
  })
  const logged: { event?: string; setting?: string; accepted?: number; reason?: string }[] = []
  const log = (fields: object) => void logged.push(fields)
  const files = openSecretFiles({
    registry: new Registry(),
    logger: { info: log, error: log } as never,
  })
  t.teardown(files.close)
  let changes = 0
  const secrets = followSecrets(config, {
    secrets: await loadSecrets(config),
    files,
    logger: { warn: log } as never,
  })
  secrets.onChange(() => {
    changes += 1
  })
  t.equal(secrets.verifyClientSecret('public', ''), undefined)
  t.equal(secrets.verifyClientSecret('unknown', OLD), undefined)
  t.equal(await secrets.verifyClientSecret('gateway', OLD), true)
  t.equal(await secrets.verifyClientSecret('gateway', NEW), false)

  writeFileSync(join(dataDir, 'gateway'), `${NEW}\n${OLD}\n`)
  t.equal(await secrets.verifyClientSecret('gateway', NEW), true, 'an unknown secret reads the file')
  t.equal(await secrets.verifyClientSecret('gateway', OLD), true)
  t.same(secrets.current.gatewaySecrets, [NEW, OLD])
  t.equal(changes, 1)

  writeFileSync(join(dataDir, 'canary'), 'another secret of the canary')
  t.equal(await secrets.verifyClientSecret('canary', 'another secret of the canary'), true)
  t.equal(await secrets.verifyClientSecret('canary', 'a secret of the canary'), false)
  writeFileSync(join(dataDir, 'canary'), 'short')
  await files.check()
  t.match(logged.at(-1), { event: 'secret_unusable', setting: 'canary.clientSecretFile' })
  writeFileSync(join(dataDir, 'canary'), 'another secret of the canary')
  await files.check()

  writeFileSync(join(dataDir, 'gateway'), 'short')
  await files.check()
  t.equal(await secrets.verifyClientSecret('gateway', OLD), true, 'the earlier secrets stay')
  t.match(logged.at(-1), { event: 'secret_unusable', setting: 'gatewayClient.secretFile' })

  writeFileSync(join(dataDir, 'gateway'), NEW)
  writeFileSync(join(dataDir, 'app'), 'of the app\nthe other one')
  writeFileSync(join(dataDir, 'cookies'), `${'n'.repeat(32)}\n${'o'.repeat(32)}`)
  await files.check()
  t.equal(await secrets.verifyClientSecret('gateway', OLD), false, 'the removed secret is rejected')
  t.equal(matchesAnySecret('the other one', secrets.clientSecretHashes('app') ?? []), true)
  t.equal(matchesAnySecret('of the app', secrets.clientSecretHashes('app') ?? []), true)
  t.same(secrets.current.cookieSecrets, ['n'.repeat(32), 'o'.repeat(32)])
  t.same(
    logged
      .filter(({ event }) => event === 'secret_reloaded')
      .map(({ setting, accepted }) => `${setting}: ${accepted}`)
      .sort(), // check() reads all files at the same time
    [
      'canary.clientSecretFile: 1',
      'cookieKeysFile: 2',
      'gatewayClient.secretFile: 1',
      'gatewayClient.secretFile: 2',
      'integrations[0].clientSecretFile: 2',
    ],
  )
  t.notMatch(JSON.stringify(logged), /secret of the gateway|nnnn|other one/)
  writeFileSync(join(dataDir, 'app'), '\n')
  await files.check()
  t.match(logged.at(-1)?.reason, /the file is empty. Write the client_secret to the file\.$/)
})

t.test('the secrets at OpenID providers follow their files', async (t) => {
  const dataDir = t.testdir({ gateway: `${OLD}\n`, company: 'old at the provider\n' })
  const file = join(dataDir, 'company')
  const config = await aConfig(dataDir, {
    gatewayClient: { id: 'gateway', secretFile: join(dataDir, 'gateway') },
    signIn: {
      local: true,
      providers: [
        {
          name: 'company',
          title: 'Example account',
          issuer: 'https://login.test',
          clientId: 'scopegate',
          clientSecretFile: file,
          scopes: ['openid'],
          claims: { name: 'name', email: 'email', groups: undefined, roles: undefined },
          admit: { emailDomains: [], groups: [], claims: new Map() },
        },
      ],
    },
  })
  const logged: unknown[] = []
  const log = (fields: object) => void logged.push(fields)
  const files = openSecretFiles({ registry: new Registry(), logger: { info: log, error: log } as never })
  t.teardown(files.close)
  const secrets = followSecrets(config, {
    secrets: await loadSecrets(config),
    files,
    logger: { warn: log } as never,
  })
  t.same(secrets.providerSecrets('company'), ['old at the provider'])
  t.same(secrets.providerSecrets('unknown'), [])
  writeFileSync(file, 'new at the provider\nold at the provider\n')
  await files.check()
  t.same(secrets.providerSecrets('company'), ['new at the provider', 'old at the provider'])
  writeFileSync(file, '')
  await files.check()
  t.same(secrets.providerSecrets('company'), ['new at the provider', 'old at the provider'], 'they stay')
  const setting = 'signIn.providers[0].clientSecretFile'
  t.match(logged, [
    { event: 'secret_reloaded', setting, accepted: 2 },
    { event: 'secret_unusable', setting },
  ])
  t.notMatch(JSON.stringify(logged), 'at the provider')
})
