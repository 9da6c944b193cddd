import { InvalidArgumentError } from 'commander'
import { isLoopback } from '../core/loopback.ts'

export interface HealthAddress {
  readonly host: string
  readonly port: number
}

/**
 * Reads `127.0.0.1:9100`, `localhost:9100` and `[::1]:9100`.
 *
 * @throws InvalidArgumentError also for addresses that others can reach: whoever asks is not asked who it is
 */
export function readHealthAddress(text: string): HealthAddress {
  const [, bracketed, plain = '', digits = ''] = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === '' || Number(digits) > 65_535) throw new InvalidArgumentError('It must be an address such as 127.0.0.1:9100.')
  if (!isLoopback(host))
    throw new InvalidArgumentError(
      'Only this machine may ask: use 127.0.0.1, localhost or [::1], and have a proxy in front if others are to ask.',
    )
  return { host, port: Number(digits) }
}
