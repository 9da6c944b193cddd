/** The figure whose numbers are the medians of those of all. What they have in common is that of the first. */
export function medianOf<Figure extends object>(figures: readonly Figure[], names: readonly NumberOf<Figure>[]): Figure {
  const median = (name: NumberOf<Figure>): number =>
    figures.map((figure) => Number(figure[name])).sort((a, b) => a - b)[Math.floor(figures.length / 2)]!
  return { ...figures[0]!, ...Object.fromEntries(names.map((name) => [name, median(name)])) }
}

type NumberOf<Figure> = { [Name in keyof Figure]: Figure[Name] extends number ? Name : never }[keyof Figure]

/** To two digits behind the point. */
export function round(value: number): number {
  return Math.round(value * 100) / 100
}
