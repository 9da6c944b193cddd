/** Checks answers against the document of the API, with a validator that is not ours. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { AnySchema } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

export interface ApiDocument {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, AnySchema>> }
}

export interface Operation {
  readonly 'x-role': string
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: AnySchema
  }[]
  readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, { readonly schema: AnySchema }>> }>>
}

export interface Opened {
  /** Method and path of each route. */
  readonly routes: readonly string[]
  /** The path of the document that a path belongs to. */
  routeOf(path: string, method?: string): string
  /** What is wrong with an answer. */
  check(route: string, status: number, answer: unknown): readonly string[]
  checkProblem(answer: unknown): readonly string[]
}

export function openDocument(document: ApiDocument): Opened {
  const ajv = new Ajv2020({ allErrors: true, strict: false })
  ;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
  ajv.addSchema(document as unknown as AnySchema, 'api')
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  )
  const wrong = (pointer: string, answer: unknown): readonly string[] => {
    const validate = ajv.compile({ $ref: `api#${pointer}` })
    return validate(answer) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
  return {
    routes,
    routeOf: (path, method = 'get') => {
      const found = routes.filter((route) => new RegExp(`^${route.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(`${method} ${path}`))
      if (found.length !== 1) throw new Error(`${method} ${path} belongs to ${found.length} routes`)
      return found[0]!
    },
    check: (route, status, answer) => {
      const [method, path] = route.split(' ')
      const escaped = path!.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')
      return wrong(`/paths/${escaped}/${method}/responses/${status}/content/application~1json/schema`, answer)
    },
    checkProblem: (answer) => wrong('/components/schemas/Problem', answer),
  }
}
