#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { onInterrupt } from './core/interrupt.ts'
import { fail, runCommand } from './program.ts'

// mutants: equivalent string `'utf8'`, JSON is parsed from bytes too
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

// A reader such as `head` closes the pipe when it has enough, which is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.on('uncaughtException', fail)
process.on('SIGINT', onInterrupt)

await runCommand(version)
