/** Who may look at a console of the command line: whoever has seen its terminal, or has its token. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** For how long a key can be used, in milliseconds. */
const keyMs = 60_000

/** Gives keys that open the console once, and become a cookie. */
export class Keys {
  readonly #session = randomBytes(32).toString('base64url')
  readonly #cookie: string
  readonly #token: string | undefined
  readonly #now: () => number
  #key: { readonly text: string; readonly untilMs: number } | undefined

  /**
   * @param port the cookies of a host are those of all its ports, so the port is in the name
   * @param token opens the console to programs
   */
  constructor(port: number, token?: string, now: () => number = Date.now) {
    this.#cookie = `taskstream-${port}`
    this.#token = token
    this.#now = now
  }

  /** Makes a key. The one before opens nothing any more. */
  make(): string {
    const text = randomBytes(24).toString('base64url')
    this.#key = { text, untilMs: this.#now() + keyMs }
    return text
  }

  /** Takes a key, once. @returns the cookie that it becomes, or undefined if it opens nothing */
  take(text: string): string | undefined {
    const key = this.#key
    if (!key || this.#now() > key.untilMs || !isSame(text, key.text)) return undefined
    this.#key = undefined
    return `${this.#cookie}=${this.#session}; HttpOnly; SameSite=Strict; Path=/`
  }

  /** Whether a request has the cookie or the token. */
  opens({ headers }: Request): boolean {
    const cookies = (headers.get('cookie') ?? '').split(/;\s*/)
    const bearer = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1]
    return (
      cookies.some((cookie) => isSame(cookie, `${this.#cookie}=${this.#session}`)) ||
      (this.#token !== undefined && bearer !== undefined && isSame(bearer, this.#token))
    )
  }
}

/** Compares secrets in a time that says nothing of them. */
function isSame(left: string, right: string): boolean {
  const [one, other] = [left, right].map((text) => createHash('sha256').update(text).digest())
  return timingSafeEqual(one!, other!)
}
