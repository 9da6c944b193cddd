/**
 * Values of these types become text, an empty object or an error in JSON. Dates and URLs are among those with `toJSON`. An error is known by its
 * stack, as inputs may well have a name and a message.
 */
type NotJson<Type> =
  | bigint
  | symbol
  | { readonly toJSON: (...args: never[]) => unknown }
  | ('stack' extends keyof Type ? Error : never)
  | RegExp
  | ArrayBuffer
  | ArrayBufferView
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | Promise<unknown>
  | ((...args: never[]) => unknown)

/**
 * The paths at which a type has values that JSON does not bring back, as `.due`. Looks six levels deep, as types may contain themselves. The paths
 * begin at the type itself, so that the compiler looks only once at a type that it meets often.
 */
type Lost<Type, Depth extends readonly unknown[] = []> = Depth['length'] extends 6
  ? never
  : unknown extends Type
    ? never
    : Type extends string | number | boolean | null | undefined | void
      ? never
      : Type extends NotJson<Type>
        ? ''
        : Type extends readonly (infer Item)[]
          ? `[]${Lost<Item, [...Depth, 0]>}`
          : { [Key in keyof Type & string]: `.${Key}${Lost<Type[Key], [...Depth, 0]>}` }[keyof Type & string]

/** Asks nothing of options whose payload JSON can keep. Otherwise it asks for an impossible one, whose type says what is wrong. */
export type JsonOnly<Type, Option extends 'input' | 'output' = 'input'> = [Lost<Type>] extends [never]
  ? unknown
  : { readonly [Name in Option]: `${Option}${Lost<Type>} would not come back from JSON` }
