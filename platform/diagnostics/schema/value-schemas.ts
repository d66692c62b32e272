import { Type } from './schema-builder.ts'
import { BYTE_SIZE_PATTERN, DURATION_PATTERN, TIMEOUT_PATTERN, WINDOW_PATTERN } from './value-formats.ts'

/** A duration as text. Convert it with `parseDurationMs`. */
export const DurationText = (description: string) =>
  Type.String({
    description,
    pattern: DURATION_PATTERN,
    'x-is': 'a duration such as 250ms, 5s, 1m, 12h or 30d',
  })

/** A timeout as text: never 0, and never longer than a timer supports. Convert it with `parseDurationMs`. */
export const TimeoutText = (description: string) =>
  Type.String({
    description,
    pattern: TIMEOUT_PATTERN,
    'x-is': 'a duration such as 250ms, 5s, 1m or 1h, from 1ms to 99h',
  })

/** A counting window as text, in whole seconds. Convert it with `parseDurationMs`. */
export const WindowText = (description: string) =>
  Type.String({
    description,
    pattern: WINDOW_PATTERN,
    'x-is': 'a duration such as 1s, 1m or 1h, from 1s to 24h',
  })

/** A size as text. Convert it with `parseByteSize`. */
export const ByteSizeText = (description: string) =>
  Type.String({
    description,
    pattern: BYTE_SIZE_PATTERN,
    'x-is': 'a size such as 512B, 16KiB, 10MiB or 1GiB',
  })

export const HttpAddress = (description: string) =>
  Type.String({
    description,
    maxLength: 2048,
    pattern: '^https?://(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?(/[^\\s?#@\\\\]*)?$',
    format: 'url', // the pattern accepts port 99999
    'x-is': 'a URL such as https://api.example.com, without user name, query or fragment',
  })

export const HttpOrigin = (description: string) =>
  Type.String({
    description,
    maxLength: 2048,
    pattern: '^https?://(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?$',
    format: 'url', // the pattern accepts port 99999
    'x-is': 'a URL of scheme and host only, such as https://api.example.com',
  })

/**
 * The path of a resource: `/`, or segments of letters, digits, `-`, `.`, `_` and `~`. The path is part of an identifier
 * that clients and servers compare character by character, so each path has one valid form. RFC 8707 section 2.
 */
export const ResourcePath = (description: string) =>
  Type.String({
    description,
    maxLength: 200,
    pattern: '^(/|(/(?!\\.{1,2}(/|$))[A-Za-z0-9\\-._~]+)+)$',
    'x-is': 'a path such as /mcp, of letters, digits, -, ., _ and ~, without a trailing slash',
  })

/** A block of addresses. Convert it with `parseCidr`. */
export const AddressBlock = (description: string) =>
  Type.String({
    description,
    format: 'cidr',
    'x-is':
      'an IP address or CIDR block such as 10.0.0.0/8, 192.0.2.7 or fd00::/8, except /0 and IPv6 blocks with IPv4 addresses',
  })

/** A TCP port. 0 selects a free port. */
export const PortNumber = (description: string) => Type.Integer({ description, minimum: 0, maximum: 65_535 })

/**
 * A file path. `readConfig` makes the path absolute. The path is relative to the folder of the configuration file. A
 * path from the environment is relative to the working folder.
 */
export const FilePath = (description: string) =>
  Type.String({ description, minLength: 1, maxLength: 4096, 'x-path': true })

/** A value that messages and logs must not show, e.g. an address that contains a password. */
export const SecretText = (description: string) =>
  Type.String({ description, minLength: 1, maxLength: 4096, 'x-secret': true })
