import { BootError } from '../diagnostics/boot-error.ts'

/** A listen address, and the setting that defines it. */
export type ListenAddress = {
  readonly service: string
  readonly host: string
  readonly port: number
  /** The setting to change, e.g. `PORT or listen.port in config/gateway.yaml`. */
  readonly setting: string
}

/** Converts an error of `listen` into a message that tells an operator how to fix the problem. */
export function explainListenError(error: unknown, address: ListenAddress): BootError {
  const where = `${address.host}:${address.port}`
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  switch (code) {
    case 'EADDRINUSE':
      return new BootError(
        'ERR_PORT_TAKEN',
        `${address.service}: another program listens on ${where} already. End that program, or choose another port (${address.setting}).`,
        { cause: error },
      )
    case 'EACCES':
      return new BootError(
        'ERR_PORT_FORBIDDEN',
        `${address.service}: this user may not listen on ${where}. Choose a port above 1023 (${address.setting}).`,
        { cause: error },
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new BootError(
        'ERR_ADDRESS_UNKNOWN',
        `${address.service}: this machine has no address ${address.host}. Use 127.0.0.1, or 0.0.0.0 for every address (${address.setting}).`,
        { cause: error },
      )
    case 'EAFNOSUPPORT':
      return new BootError(
        'ERR_ADDRESS_UNKNOWN',
        `${address.service}: this machine does not support the address family of ${address.host}. Use 0.0.0.0 for every IPv4 address, or enable IPv6 (${address.setting}).`,
        { cause: error },
      )
    default:
      return new BootError(
        'ERR_LISTEN',
        `${address.service}: could not listen on ${where} (${code}; ${address.setting}).`,
        {
          cause: error,
        },
      )
  }
}
