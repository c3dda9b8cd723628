// The figures of a text, so that somebody can go from a figure of a report to the result that has it. Pure.

export interface Figure {
  readonly from: number
  readonly to: number
  readonly value: number
}

const written = /\d+(?:[.,'’\u00A0\u2009\u202F]\d+)*/g

/** The figures of a text, in their order. 1,234.5 and 1234.50 have one value. A date such as 2026.1.2 is none. */
export function figuresIn(text: string): readonly Figure[] {
  return [...text.matchAll(written)].flatMap(({ 0: shown, index: from }) => {
    const value = valueOf(shown)
    return value === null ? [] : [{ from, to: from + shown.length, value }]
  })
}

/** Whether a text has a figure of this value. */
export const hasFigure = (text: string, value: number): boolean =>
  figuresIn(text).some((figure) => figure.value === value)

function valueOf(shown: string): number | null {
  const plain = shown.replaceAll(/['’\u00A0\u2009\u202F]/g, '')
  const english = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(plain) ? plain.replaceAll(',', '') : plain
  const value = Number(/^\d+,\d+$/.test(english) ? english.replace(',', '.') : english)
  return Number.isFinite(value) ? value : null
}
