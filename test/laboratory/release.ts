/** Loaded before a process's program: it uses the packages of the checkout LABORATORY_RELEASE, such as those of the release before. */
import { registerHooks } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const folder = process.env['LABORATORY_RELEASE']
const own = /^(?:@taskstream\/)?(taskstream|task-[^/]+)/

if (folder) {
  // A package finds itself by its own name.
  const within = (name: string): string => pathToFileURL(join(resolve(folder), 'packages', name, 'package.json')).href
  registerHooks({
    resolve: (name, context, next) => {
      const [, of] = own.exec(name) ?? []
      return next(name, of === undefined ? context : { ...context, parentURL: within(of) })
    },
  })
}
