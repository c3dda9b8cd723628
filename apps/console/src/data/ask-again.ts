// Asks again for what a page shows when it may be different. An answer that is under way is not thrown away,
// because on a busy system there would never be one. It may be older than the change, so the question is asked
// once more when it has come.
import type { QueryClient } from '@tanstack/react-query'

/** What is asked again: queries by the first two parts of their keys. */
type Meant = (name: unknown, id: unknown) => boolean

/** Returns a function that asks again, for as long as `signal` does not abort. */
export function askingAgain(client: QueryClient, signal: AbortSignal): (isMeant: Meant) => void {
  const cache = client.getQueryCache()
  /** The queries whose answer under way may be too old, by their hashes. */
  const late = new Set<string>()
  const ask = (predicate: (hash: string, key: readonly unknown[]) => boolean): void =>
    void client.invalidateQueries(
      { predicate: ({ queryHash, queryKey }) => predicate(queryHash, queryKey) },
      { cancelRefetch: false },
    )
  const forget = cache.subscribe(({ type, query }) => {
    const hash = query.queryHash
    if (type === 'removed') late.delete(hash)
    if (type !== 'updated' || query.state.fetchStatus === 'fetching' || !late.delete(hash)) return
    // The cache is in the middle of an update.
    queueMicrotask(() => ask((each) => each === hash))
  })
  signal.addEventListener('abort', forget)
  return (isMeant) =>
    ask((hash, [name, id]) => {
      if (!isMeant(name, id)) return false
      if (cache.get(hash)?.state.fetchStatus === 'fetching') late.add(hash)
      return true
    })
}
