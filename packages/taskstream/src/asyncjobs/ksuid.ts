import { randomBytes } from 'node:crypto'

/** The second from which KSUIDs count: 13 May 2014, 16:53:20 UTC. */
const epochSeconds = 1_400_000_000
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const length = 27

/**
 * Makes a KSUID: 27 letters and digits, of which a later second has a greater one.
 *
 * @param random 16 bytes
 */
export function ksuid(nowMs: number = Date.now(), random: Buffer = randomBytes(16)): string {
  const bytes = Buffer.alloc(20)
  bytes.writeUInt32BE(Math.floor(nowMs / 1_000) - epochSeconds)
  random.copy(bytes, 4)
  let rest = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  while (text.length < length) {
    text = digits[Number(rest % 62n)]! + text
    rest /= 62n
  }
  return text
}
