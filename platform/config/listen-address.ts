import Type from 'typebox'
import { PortNumber } from '../diagnostics/schema/value-schemas.ts'

export const LISTEN_KEYS = {
  host: Type.String({ description: 'address to listen on', minLength: 1, maxLength: 255 }),
  port: PortNumber('port to listen on; 0 asks the system for a free one'),
}

export const ListenAddress = (description: string) => Type.Object(LISTEN_KEYS, { description })
