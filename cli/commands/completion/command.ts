import type { Verb } from '../../verb.ts'

export const COMPLETION: Verb = {
  name: 'completion',
  group: 'This command',
  summary: 'prints a shell completion script',
  positionals: { usage: 'bash|zsh|fish', min: 1, max: 1 },
  options: [],
  examples: [
    {
      command: 'scopegate completion bash > scopegate.bash',
      description: 'For bash: source the file in ~/.bashrc.',
    },
    {
      command: 'scopegate completion zsh > _scopegate',
      description: 'For zsh: put the file into a folder of $fpath.',
    },
    {
      command: 'scopegate completion fish > scopegate.fish',
      description: 'For fish: put the file into ~/.config/fish/completions.',
    },
  ],
  exits: { 0: 'printed' },
  run: async (given, terminal) => (await import('./completion.ts')).completion(given, terminal),
}
