/**
 * Strips types without WebAssembly. The thread of a test loads it first, in place of Node.js's own way, which is WebAssembly: V8
 * now and then ends a process in which a thread runs that (nodejs/node#64500: the registry of its code fails a check, SIGTRAP).
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { transformSync } from 'rolldown/utils'

registerHooks({
  load(url, context, next) {
    const { protocol, pathname } = new URL(url)
    if (protocol !== 'file:' || !pathname.endsWith('.ts')) return next(url, context)
    const { code, errors } = transformSync(pathname, readFileSync(new URL(url.replace(/[?#].*/, '')), 'utf8'))
    if (errors.length > 0) throw new AggregateError(errors, pathname)
    return { format: 'module', source: code, shortCircuit: true }
  },
})
