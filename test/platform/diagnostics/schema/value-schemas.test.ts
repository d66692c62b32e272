import t from 'tap'
import {
  AddressBlock,
  ByteSizeText,
  DurationText,
  FilePath,
  HttpAddress,
  HttpOrigin,
  PortNumber,
  ResourcePath,
  SecretText,
  TimeoutText,
  WindowText,
} from '../../../../platform/diagnostics/schema/value-schemas.ts'
import { listRepositoryFiles, readRepositoryFile } from '../../../fixtures/repository-texts.ts'

t.test('each value schema has exactly these keywords', async (t) => {
  const description = 'd'
  for (const [schema, expected] of [
    [
      DurationText,
      {
        type: 'string',
        pattern: '^[0-9]{1,7}(ms|s|m|h|d)$',
        'x-is': 'a duration such as 250ms, 5s, 1m, 12h or 30d',
      },
    ],
    [
      TimeoutText,
      {
        type: 'string',
        pattern: '^([1-9][0-9]{0,6}ms|[1-9][0-9]{0,4}s|[1-9][0-9]{0,2}m|[1-9][0-9]?h)$',
        'x-is': 'a duration such as 250ms, 5s, 1m or 1h, from 1ms to 99h',
      },
    ],
    [
      WindowText,
      {
        type: 'string',
        pattern:
          '^([1-9][0-9]{0,3}s|[1-7][0-9]{4}s|8[0-5][0-9]{3}s|86[0-3][0-9]{2}s|86400s|[1-9][0-9]{0,2}m|1[0-3][0-9]{2}m|14[0-3][0-9]m|1440m|[1-9]h|1[0-9]h|2[0-4]h)$',
        'x-is': 'a duration such as 1s, 1m or 1h, from 1s to 24h',
      },
    ],
    [
      ByteSizeText,
      {
        type: 'string',
        pattern: '^[0-9]{1,6}(B|KiB|MiB|GiB)$',
        'x-is': 'a size such as 512B, 16KiB, 10MiB or 1GiB',
      },
    ],
    [
      HttpAddress,
      {
        type: 'string',
        maxLength: 2048,
        pattern: '^https?://(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?(/[^\\s?#@\\\\]*)?$',
        format: 'url',
        'x-is': 'a URL such as https://api.example.com, without user name, query or fragment',
      },
    ],
    [
      HttpOrigin,
      {
        type: 'string',
        maxLength: 2048,
        pattern: '^https?://(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?$',
        format: 'url',
        'x-is': 'a URL of scheme and host only, such as https://api.example.com',
      },
    ],
    [
      ResourcePath,
      {
        type: 'string',
        maxLength: 200,
        pattern: '^(/|(/(?!\\.{1,2}(/|$))[A-Za-z0-9\\-._~]+)+)$',
        'x-is': 'a path such as /mcp, of letters, digits, -, ., _ and ~, without a trailing slash',
      },
    ],
    [
      AddressBlock,
      {
        type: 'string',
        format: 'cidr',
        'x-is':
          'an IP address or CIDR block such as 10.0.0.0/8, 192.0.2.7 or fd00::/8, except /0 and IPv6 blocks with IPv4 addresses',
      },
    ],
    [PortNumber, { type: 'integer', minimum: 0, maximum: 65_535 }],
    [FilePath, { type: 'string', minLength: 1, maxLength: 4096, 'x-path': true }],
    [SecretText, { type: 'string', minLength: 1, maxLength: 4096, 'x-secret': true }],
  ] as const)
    t.strictSame(JSON.parse(JSON.stringify(schema(description))), { description, ...expected }, schema.name)
})

t.test(
  'the services import only types of TypeBox, because its modules would slow down each start',
  async (t) => {
    const folders = ['authorization-server', 'cli', 'gateway', 'oauth', 'platform', 'policy-engine']
    const files = folders.flatMap((folder) => listRepositoryFiles(folder))
    t.ok(files.length > 100)
    t.same(
      files.filter((file) => /^import (?!type\b).*from 'typebox'/m.test(readRepositoryFile(file))),
      [],
    )
  },
)
