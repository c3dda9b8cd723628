// What is known of figures: those that a check allows, and those in texts of tools. A figure without a sign
// may be one with a minus, because prose says "fell by 5"; one that rises may not. A figure without a
// magnitude has the one in the head of its text: "HK$ million". Nothing else converts.
import { datesWithin } from './dates.ts'
import { type Atom, type Figure, figuresIn, scaled } from './figures.ts'
import { compatible, type StatedMagnitude, statedMagnitudes } from './units.ts'

export class KnownFigures {
  /** The tags of each value. */
  readonly #values = new Map<string, Set<string>>()
  /** Dates and dotted numbers. */
  readonly #texts = new Set<string>()

  allow(values: readonly string[]): void {
    for (const value of values) {
      this.#add(value, '')
      this.#texts.add(value)
    }
  }

  learn(text: string): void {
    const stated = statedMagnitudes(text)
    for (const { readings } of figuresIn(text)) for (const atom of readings.flat()) this.#learn(atom, stated)
  }

  /** @param stated the magnitudes that the text of the figure states in heads */
  has({ readings }: Figure, stated: readonly StatedMagnitude[]): boolean {
    return readings.some((atoms) => atoms.every((atom) => this.#knows(atom, stated)))
  }

  #learn(atom: Atom, stated: readonly StatedMagnitude[]): void {
    if (atom.kind === 'value') for (const { value, tag } of meanings(atom, stated)) this.#add(value, tag)
    else
      for (const value of atom.kind === 'date' ? datesWithin(atom.value) : [atom.value])
        this.#texts.add(value)
  }

  #add(value: string, tag: string): void {
    const tags = this.#values.get(value)
    if (tags === undefined) this.#values.set(value, new Set([tag]))
    else tags.add(tag)
  }

  #knows(atom: Atom, stated: readonly StatedMagnitude[]): boolean {
    if (atom.kind !== 'value') return this.#texts.has(atom.value)
    const either = atom.rises !== true && !atom.value.startsWith('-')
    return meanings(atom, stated).some(
      ({ value, tag }) => this.#hasValue(value, tag) || (either && this.#hasValue(`-${value}`, tag)),
    )
  }

  #hasValue(value: string, tag: string): boolean {
    const tags = this.#values.get(value)
    return tags !== undefined && [...tags].some((each) => compatible(each, tag))
  }
}

const noMagnitude = new Set(['%', 'bp', 'ratio'])

/** A value as it is written, and with each magnitude that a head of its text states. */
function meanings(
  { value, tag, bare }: Extract<Atom, { kind: 'value' }>,
  stated: readonly StatedMagnitude[],
): { value: string; tag: string }[] {
  const own = { value, tag }
  if (!bare || noMagnitude.has(tag)) return [own]
  return [own, ...stated.map((figure) => ({ value: scaled(value, figure.power), tag: tag || figure.tag }))]
}
