// What a build writes down about itself: what is in it (a CycloneDX SBOM) and what it was made from (an
// in-toto statement with SLSA provenance). Pure: build.ts reads the files and writes the results. The
// statement names every tarball with its SHA-256, and everything that the build used with its hash. It is not
// signed: it says what was built, and not who says so. Whoever publishes the tarballs signs it.
import type { Pins } from './pins.mjs'

export interface BuiltFile {
  readonly name: string
  readonly sha256: string
}

export interface BuildFacts {
  readonly files: readonly BuiltFile[]
  /** `null` outside a git checkout. */
  readonly commit: string | null
  /** Whether tracked files differ from the commit. */
  readonly changed: boolean
  readonly lockSha256: string
  readonly pinsSha256: string
  readonly pins: Pins
  /** Such as `linux-x64`. */
  readonly platform: string
  readonly startedOn: string
  readonly finishedOn: string
}

/** Names of the form of this build and of the machine that builds. They are no addresses. */
const buildType = 'urn:beaver:pnpm-build:1'
const builder = 'urn:beaver:builder:local'

/** An in-toto statement v1 with the predicate SLSA provenance v1. */
export function provenanceOf(facts: BuildFacts) {
  const { files, commit, changed, lockSha256, pinsSha256, pins, platform, startedOn, finishedOn } = facts
  const packages = [
    ...Object.entries(pins.node.packages).filter(([name]) => name.endsWith(platform)),
    ...Object.entries(pins.pnpm.packages).filter(([name]) => name === 'pnpm' || name.endsWith(platform)),
  ]
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: files.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType,
        externalParameters: { command: 'pnpm build' },
        internalParameters: { platform, changed_files: changed },
        resolvedDependencies: [
          ...(commit === null ? [] : [{ uri: 'git+file:.', digest: { gitCommit: commit } }]),
          { uri: 'pnpm-lock.yaml', digest: { sha256: lockSha256 } },
          { uri: 'scripts/pins.json', digest: { sha256: pinsSha256 } },
          ...packages.map(([name, integrity]) => ({
            uri: purlOf(name, name.startsWith('node') ? pins.node.version : pins.pnpm.version),
            digest: { sha512: hexOf(integrity) },
          })),
        ],
      },
      runDetails: { builder: { id: builder }, metadata: { startedOn, finishedOn } },
    },
  }
}

interface Sbom {
  readonly components?: readonly unknown[]
}

/** Adds the programs that the set-up fetches and that the lock file does not name. */
export function withFetchedPrograms<T extends Sbom>(
  sbom: T,
  pins: Pins,
  platform: string,
): T & { readonly components: readonly unknown[] } {
  const { version, debian } = pins['nats-server']
  const pin = debian.platforms[platform]
  const purl = `pkg:deb/debian/nats-server@${debian.package}`
  const hashes = pin?.program === undefined ? {} : { hashes: [{ alg: 'SHA-256', content: pin.program }] }
  const server = {
    type: 'application',
    'bom-ref': purl,
    name: 'nats-server',
    version,
    purl,
    scope: 'required',
    ...hashes,
    licenses: [{ license: { id: 'Apache-2.0' } }],
  }
  return { ...sbom, components: [...(sbom.components ?? []), server] }
}

const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`
const hexOf = (integrity: string): string =>
  Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
