/** Writes the files that `files.ts` makes: `npm run telemetry:files`. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { files, folder } from './files.ts'

for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
