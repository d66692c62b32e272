import t from 'tap'
import { DRAIN_DEFAULTS, DrainSchema } from '../../../platform/config/drain-schema.ts'
import { ConsoleAddress, ListenAddress } from '../../../platform/config/listen-address.ts'

/** Configuration editors read the JSON text of a schema. */
const json = (schema: object): unknown => JSON.parse(JSON.stringify(schema))

const HOST = { type: 'string', description: 'address to listen on', minLength: 1, maxLength: 255 }
const PORT = {
  type: 'integer',
  description: 'port to listen on; with 0, the system selects a free port',
  minimum: 0,
  maximum: 65_535,
}

t.test('DrainSchema accepts a delay below a minute and a grace period, with defaults', async (t) => {
  t.strictSame(json(DrainSchema), {
    type: 'object',
    description: 'graceful shutdown',
    properties: {
      delay: {
        type: 'string',
        description:
          'time in which the service accepts new connections after readiness fails; use 0s without a load balancer',
        pattern: '^([0-9]|[1-5][0-9])s$',
        'x-is': 'a number of seconds from 0s to 59s',
      },
      grace: {
        type: 'string',
        description: 'time until the service closes open connections, delay included',
        pattern: '^([1-9][0-9]{0,6}ms|[1-9][0-9]{0,4}s|[1-9][0-9]{0,2}m|[1-9][0-9]?h)$',
        'x-is': 'a duration such as 250ms, 5s, 1m or 1h, from 1ms to 99h',
      },
    },
  })
  t.strictSame(DRAIN_DEFAULTS, { delay: '5s', grace: '20s' })
})

t.test('ListenAddress() requires a host and a port', async (t) => {
  t.strictSame(json(ListenAddress('the public address')), {
    type: 'object',
    description: 'the public address',
    properties: { host: HOST, port: PORT },
    required: ['host', 'port'],
  })
})

t.test('ConsoleAddress accepts at most 100 different host names without a port', async (t) => {
  t.strictSame(json(ConsoleAddress), {
    type: 'object',
    description: 'address of the listener for /livez, /readyz and /metrics',
    properties: {
      host: HOST,
      port: PORT,
      names: {
        type: 'array',
        description: 'accepted host names, in addition to IP addresses, localhost and host',
        maxItems: 100,
        uniqueItems: true,
        items: {
          type: 'string',
          description: 'an accepted host name',
          maxLength: 253,
          pattern: '^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$',
          'x-is': 'a host name without a port, such as gw-scopegate.gateways.svc',
        },
      },
      console: {
        type: 'boolean',
        description: 'whether the management port serves the console; default: true',
      },
      linkedConsole: {
        type: 'string',
        description: 'URL of the console of the other service, for a link on each page of the console',
        maxLength: 2048,
        pattern: '^https?://(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?(/[^\\s?#@\\\\]*)?$',
        format: 'url',
        'x-is': 'a URL such as https://api.example.com, without user name, query or fragment',
      },
    },
    required: ['host', 'port'],
  })
})
