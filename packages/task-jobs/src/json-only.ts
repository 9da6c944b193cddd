/** Values of these types become text, an empty object or an error in JSON. */
type NotJson =
  | bigint
  | symbol
  | Date
  | RegExp
  | URL
  | Error
  | ArrayBuffer
  | ArrayBufferView
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | Promise<unknown>
  | ((...args: never[]) => unknown)

/** The paths at which a type has values that JSON does not bring back, as `input.due`. Looks six levels deep, as types may contain themselves. */
type Lost<Type, Path extends string, Depth extends readonly unknown[] = []> = Depth['length'] extends 6
  ? never
  : unknown extends Type
    ? never
    : Type extends string | number | boolean | null | undefined | void
      ? never
      : Type extends NotJson
        ? Path
        : Type extends readonly (infer Item)[]
          ? Lost<Item, `${Path}[]`, [...Depth, 0]>
          : { [Key in keyof Type & string]: Lost<Type[Key], `${Path}.${Key}`, [...Depth, 0]> }[keyof Type & string]

/** Asks nothing of options whose input JSON can keep. Otherwise it asks for an impossible `input`, whose type says what is wrong. */
export type JsonOnly<Given> = [Lost<Given, 'input'>] extends [never]
  ? unknown
  : { readonly input: `${Lost<Given, 'input'>} would not come back from JSON` }
