/** Checks every statement of the Oracle dialect without a server: `npm run test:oracle`. */
import { check } from './check.ts'

const { counts, errors } = await check()
for (const error of errors) console.error(`${error}\n`)
console.log(
  `oracle: ${counts.parsed} statements parsed, ${counts.names} name checks, ${counts.binds} bind checks, ${counts.lints} lint checks, ${errors.length} errors`,
)
process.exitCode = errors.length > 0 ? 1 : 0
