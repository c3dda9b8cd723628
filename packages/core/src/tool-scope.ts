// The safety ceiling on a worker's tools. It never brings a tool, it only takes some away (S0 §5).

export interface ToolScope {
  readonly effective: readonly string[]
  /** Allowed names that are not assembled (D-41). */
  readonly dropped: readonly string[]
}

/** `assembled ∩ allowed`, in the order of `assembled`. `null` allows all; `[]` none. */
export function applyToolScope(assembled: readonly string[], allowed: readonly string[] | null): ToolScope {
  if (allowed === null) return { effective: assembled, dropped: [] }
  const ceiling = new Set(allowed)
  const known = new Set(assembled)
  return { effective: assembled.filter((name) => ceiling.has(name)), dropped: [...ceiling].filter((name) => !known.has(name)) }
}
