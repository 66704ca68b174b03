onnxtool ops --domain com.example
