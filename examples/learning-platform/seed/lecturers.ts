import type { Document } from '../families/json-schema.ts'

export const seedLecturers: readonly Document[] = [
  lecturer(
    'Mara K.',
    'Potter, fires with wood',
    'Twelve years at the wheel, and still opens every kiln with her eyes closed.',
    ['pottery', 'glazing', 'kilns'],
  ),
  lecturer(
    'Tomas R.',
    'Joiner and toolmaker',
    'Builds chairs by hand and teaches how to sharpen before he teaches how to cut.',
    ['joinery', 'sharpening', 'design'],
  ),
  lecturer(
    'Ines D.',
    'Documentary film editor',
    'Cuts long films out of too much footage. Teaches paper edits.',
    ['editing', 'sound', 'story'],
  ),
  lecturer(
    'Noor A.',
    'Software engineer',
    'Wrote control software for kilns before she wrote it for the web.',
    ['programming', 'databases', 'testing'],
  ),
  lecturer('Elias W.', 'Bookbinder', 'Repairs discarded books, one signature at a time.', [
    'bookbinding',
    'paper',
  ]),
  {
    ...lecturer('Petra S.', 'Illustrator', 'On leave, drawing mountains.', ['drawing', 'ink']),
    state: 'inactive',
  },
]

function lecturer(name: string, headline: string, bio: string, expertise: readonly string[]): Document {
  const email = `${name.toLowerCase().replace(/[ .]+/g, '-').replace(/-$/, '')}@kiln-and-compass.example`
  return { name, headline, bio, email, expertise, state: 'active' }
}
