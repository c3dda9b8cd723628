// A list in a tool result that says how much it left out.

export interface BoundedList {
  readonly paths: readonly string[]
  readonly left_out: number
}

export function boundedList(pathsMax: number): { add(path: string): void; result(): BoundedList } {
  const paths: string[] = []
  let count = 0
  return {
    add(path) {
      if (count++ < pathsMax) paths.push(path)
    },
    result: () => ({ paths, left_out: count - paths.length }),
  }
}
