/** What the entries draw in common. */
import * as fc from 'fast-check'

/** Some of these fields. */
export function some<Fields extends object>(fields: { [Key in keyof Fields]: fc.Arbitrary<Fields[Key]> }): fc.Arbitrary<
  Partial<Fields>
> {
  return fc.record(fields, { requiredKeys: [] }) as unknown as fc.Arbitrary<Partial<Fields>>
}

/** Texts of these pieces: a soup of them, or a few of them again and again, which a careless reader takes long to read. */
export function soup(pieces: readonly string[]): fc.Arbitrary<string> {
  const piece = fc.constantFrom(...pieces)
  const few = fc.array(piece, { maxLength: 12 }).map((some) => some.join(''))
  const again = fc
    .tuple(few, fc.array(piece, { minLength: 1, maxLength: 3 }), fc.constantFrom(10, 300, 1_000, 100_000), few)
    .map(([before, some, times, after]) => before + some.join('').repeat(times) + after)
  return fc.oneof(
    { weight: 8, arbitrary: few },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
    { weight: 1, arbitrary: again },
  )
}
