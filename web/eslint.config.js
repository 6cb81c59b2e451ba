import a11y from 'eslint-plugin-jsx-a11y';
import hooks from 'eslint-plugin-react-hooks';
import { defineConfig, globalIgnores } from 'eslint/config';
import ts from 'typescript-eslint';

export default defineConfig(globalIgnores(['node_modules', 'src/api/schema.d.ts', 'tests/pictures']), {
  files: ['**/*.{ts,tsx}'],
  extends: [ts.configs.strictTypeChecked, a11y.flatConfigs.strict, hooks.configs.flat['recommended-latest']],
  languageOptions: { parserOptions: { projectService: true } },
  rules: {
    '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    // Text reaches the page as nodes only, never as HTML.
    'no-restricted-syntax': [
      'error',
      { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: 'Render nodes, not HTML.' },
      {
        selector: 'MemberExpression[property.name=/^(innerHTML|outerHTML)$/]',
        message: 'Render nodes, not HTML.',
      },
    ],
  },
});
