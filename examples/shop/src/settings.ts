/** What the environment says. Each process reads it once, at its start. */
export const settings = {
  /** `postgres://…`, or `sqlite:` and the path of a file. */
  databaseUrl: process.env['DATABASE_URL'] ?? 'sqlite:shop.db',
  host: process.env['HOST'] ?? '127.0.0.1',
  port: number('PORT', 3000),
  /** For probes and metrics of the worker, on this machine alone. 0: any port that is free. */
  healthPort: number('HEALTH_PORT', 9100),
  /** For how long a process may be silent before others take its jobs. */
  leaseMs: number('LEASE_MS', 30_000),
  reminderAfterMs: number('REMINDER_AFTER_MS', 14 * 86_400_000),
  /** Who may use the console, by HTTP's basic authentication. Without it, nobody may. */
  consolePassword: process.env['CONSOLE_PASSWORD'],
}

function number(name: string, otherwise: number): number {
  const text = process.env[name]
  if (text === undefined) return otherwise
  if (!/^\d{1,12}$/.test(text)) throw new Error(`${name} must be a whole number, and is ${JSON.stringify(text)}`)
  return Number(text)
}
