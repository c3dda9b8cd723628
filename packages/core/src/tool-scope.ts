// The safety ceiling on a worker's tools. It never adds a tool; it only removes some (TA-01, TA-02).

/** The tools of a worker. `effective`: the tools that it has. */
export interface ToolScope {
  readonly effective: readonly string[]
  /** Allowed names that are not assembled (D-41). */
  readonly dropped: readonly string[]
}

/**
 * Applies the ceiling: `assembled ∩ allowed`, in the order of `assembled`. `null` allows all tools; `[]`
 * allows none.
 *
 * @example
 * applyToolScope(['read', 'write'], ['read', 'fetch']) // => { effective: ['read'], dropped: ['fetch'] }
 * applyToolScope(['read', 'write'], null).effective // => ['read', 'write']
 */
export function applyToolScope(assembled: readonly string[], allowed: readonly string[] | null): ToolScope {
  if (allowed === null) return { effective: assembled, dropped: [] }
  const ceiling = new Set(allowed)
  const known = new Set(assembled)
  return {
    effective: assembled.filter((name) => ceiling.has(name)),
    dropped: [...ceiling].filter((name) => !known.has(name)),
  }
}
