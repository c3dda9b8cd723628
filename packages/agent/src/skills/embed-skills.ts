// Gets the vectors of skills. Each is requested once and kept per provider, under the embedded text and the
// model. One embed call gets the query and all vectors that are not kept yet. At most `vectorsMax` vectors
// are kept. The one that was unused for longest is dropped. Vectors that cannot be compared (wrong count,
// wrong length, no numbers) are an error, and none of them is kept.
import { createHash } from 'node:crypto'
import type { EmbeddingProvider } from '../provider/embedding-provider.ts'
import type { Skill } from './skill.ts'

type Vector = readonly number[]

const vectorsMax = 2_000
const queryCharsMax = 4_000
const vectorsOf = new WeakMap<EmbeddingProvider, Map<string, Vector>>()

export interface SkillVectors {
  readonly query: Vector
  readonly skills: readonly { readonly skill: Skill; readonly vector: Vector }[]
}

/** @throws {ProviderError} if the provider throws it; an Error if its vectors cannot be compared */
export async function embedSkills(
  query: string,
  skills: readonly Skill[],
  provider: EmbeddingProvider,
  signal: AbortSignal,
): Promise<SkillVectors> {
  const kept = vectorsOf.get(provider) ?? new Map<string, Vector>()
  vectorsOf.set(provider, kept)
  const wanted = skills.map((skill) => {
    const text = `${skill.name}: ${skill.description}`
    return {
      skill,
      text,
      key: createHash('sha256')
        .update(JSON.stringify([provider.model, text]))
        .digest('hex'),
    }
  })
  const missing = [
    ...new Map(wanted.filter(({ key }) => !kept.has(key)).map((each) => [each.key, each.text])),
  ]
  const [queryVector, ...fresh] = await provider.embed(
    [query.slice(0, queryCharsMax).toWellFormed(), ...missing.map(([, text]) => text)],
    signal,
  )
  const byKey = new Map(missing.map(([key], i) => [key, fresh[i]]))
  const vectors = wanted.map(({ skill, key }) => ({
    skill,
    key,
    vector: byKey.has(key) ? byKey.get(key) : kept.get(key),
  }))
  if (
    queryVector === undefined ||
    fresh.length !== missing.length ||
    !comparable([queryVector, ...vectors.map(({ vector }) => vector)])
  ) {
    // The kept vectors may come from another build of the same model, so they are requested again next time.
    for (const { key } of wanted) kept.delete(key)
    throw new Error(`The embeddings of ${provider.name} cannot be compared with each other.`)
  }
  for (const { key, vector } of vectors) keep(kept, key, vector as Vector)
  return {
    query: queryVector,
    skills: vectors.map(({ skill, vector }) => ({ skill, vector: vector as Vector })),
  }
}

function comparable(vectors: readonly (Vector | undefined)[]): boolean {
  const length = vectors[0]?.length ?? 0
  return (
    length > 0 &&
    vectors.every((vector) => vector?.length === length && vector.every((x) => Number.isFinite(x)))
  )
}

function keep(kept: Map<string, Vector>, key: string, vector: Vector): void {
  kept.delete(key)
  kept.set(key, vector)
  if (kept.size > vectorsMax) kept.delete(kept.keys().next().value as string)
}
